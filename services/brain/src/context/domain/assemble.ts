/** What an agent is to know, cut to a budget: layers in one order, each piece with where it comes from. */
import { hash } from 'node:crypto';

export const LAYERS = ['static', 'tools', 'islands', 'knowledge', 'history', 'dynamic'] as const;
export type LayerName = (typeof LAYERS)[number];

/** Percent of the budget. What a layer leaves goes to knowledge, then to static; tools are paid from the share of static. */
export const SHARES = { static: 40, islands: 20, knowledge: 30, history: 5, dynamic: 5 } as const;

/** Places up to which a model may keep what it has read: after the first of the layers that have a text. */
const MOST_BREAKPOINTS = 4;
const BYTES_OF_TOKEN = 4;
const GAP = '\n\n';

export interface Piece {
  readonly title: string;
  readonly text: string;
  /** Null = nothing that could be opened. */
  readonly source: Source | null;
}

interface Source {
  readonly file: string;
  /** Of the first line of the text, from 1. */
  readonly line: number;
  readonly commit: string | null;
  readonly hash: string;
}

export type Pieces = Readonly<Record<LayerName, readonly Piece[]>>;

interface ContextCitation {
  readonly file: string;
  readonly lines: readonly [number, number];
  readonly commit: string | null;
  readonly hash: string;
  readonly layer: LayerName;
}

export interface ContextLayer {
  readonly name: LayerName;
  readonly tokens: number;
  readonly items: number;
  /** Something of it did not fit. */
  readonly truncated: boolean;
  /** SHA-256 of its text. */
  readonly hash: string;
}

export interface Breakpoint {
  readonly after: LayerName;
  /** Of everything up to here. */
  readonly tokens: number;
  readonly hash: string;
}

export interface AssembledContext {
  readonly text: string;
  readonly tokens: number;
  readonly layers: readonly ContextLayer[];
  readonly breakpoints: readonly Breakpoint[];
  readonly citations: readonly ContextCitation[];
}

/** A token is counted as four bytes of UTF-8. */
export function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_OF_TOKEN);
}

/** Never over `budget` tokens. Equal pieces and budget give an equal text. */
export function assemble(pieces: Pieces, budget: number): AssembledContext {
  const filled = fill(pieces, budget * BYTES_OF_TOKEN);
  const layers: ContextLayer[] = [];
  const breakpoints: Breakpoint[] = [];
  const citations: ContextCitation[] = [];
  let text = '';
  for (const name of LAYERS) {
    const layer = filled[name];
    if (layer.parts.length === 0 && !layer.truncated) continue;
    text += layer.text;
    const { parts, truncated } = layer;
    layers.push({ name, tokens: tokensOf(layer.text), items: parts.length, truncated, hash: sha256(layer.text) });
    citations.push(...parts.flatMap((part) => citationOf(name, part)));
    if (name !== 'dynamic' && layer.text !== '' && breakpoints.length < MOST_BREAKPOINTS)
      breakpoints.push({ after: name, tokens: tokensOf(text), hash: sha256(text) });
  }
  return { text, tokens: tokensOf(text), layers, breakpoints, citations };
}

interface Part {
  readonly piece: Piece;
  /** Of the piece's text, from its beginning. */
  readonly text: string;
}

interface FilledLayer {
  readonly parts: readonly Part[];
  readonly text: string;
  readonly bytes: number;
  readonly truncated: boolean;
}

function fill(pieces: Pieces, room: number): Record<LayerName, FilledLayer> {
  const share = (percent: number): number => Math.floor((room * percent) / 100);
  const tools = fillLayer('tools', pieces.tools, share(SHARES.static));
  const ownStatic = share(SHARES.static) - tools.bytes;
  const notes = fillLayer('static', pieces.static, ownStatic);
  const islands = fillLayer('islands', pieces.islands, share(SHARES.islands));
  const history = fillLayer('history', pieces.history, share(SHARES.history));
  const dynamic = fillLayer('dynamic', pieces.dynamic, share(SHARES.dynamic));
  const taken = tools.bytes + islands.bytes + history.bytes + dynamic.bytes;
  const knowledge = fillLayer('knowledge', pieces.knowledge, room - taken - notes.bytes);
  const left = room - taken - knowledge.bytes;
  const more = notes.truncated && left > ownStatic ? fillLayer('static', pieces.static, left) : notes;
  return { static: more, tools, islands, knowledge, history, dynamic };
}

function fillLayer(name: LayerName, pieces: readonly Piece[], room: number): FilledLayer {
  const heading = `# ${name}${GAP}`;
  const parts: Part[] = [];
  let text = heading;
  let bytes = Buffer.byteLength(heading);
  let truncated = false;
  for (const piece of pieces) {
    const title = `## ${piece.title}${GAP}`;
    const around = Buffer.byteLength(title) + GAP.length;
    const fitting = fittingText(piece.text, room - bytes - around);
    if (fitting.length < piece.text.trimEnd().length) truncated = true;
    if (fitting === '') continue;
    parts.push({ piece, text: fitting });
    text += title + fitting + GAP;
    bytes += around + Buffer.byteLength(fitting);
  }
  return parts.length === 0 ? { parts, text: '', bytes: 0, truncated } : { parts, text, bytes, truncated };
}

/** The longest beginning within `room` bytes that ends with a paragraph, else with a line; without blanks at its end. */
function fittingText(text: string, room: number): string {
  const whole = text.trimEnd();
  if (Buffer.byteLength(whole) <= room) return whole;
  let bytes = 0;
  let lineEnd = 0;
  let paragraphEnd = 0;
  for (let from = 0; from < whole.length; ) {
    const newline = whole.indexOf('\n', from);
    const to = newline === -1 ? whole.length : newline + 1;
    const line = whole.slice(from, to);
    bytes += Buffer.byteLength(line);
    if (bytes > room) break;
    if (line.trim() === '') paragraphEnd = from;
    lineEnd = to;
    from = to;
  }
  return whole.slice(0, paragraphEnd > 0 ? paragraphEnd : lineEnd).trimEnd();
}

function citationOf(layer: LayerName, { piece: { source }, text }: Part): ContextCitation[] {
  if (source === null) return [];
  const { line, file, commit, hash: of } = source;
  return [{ file, lines: [line, line + text.split('\n').length - 1], commit, hash: of, layer }];
}

function sha256(text: string): string {
  return hash('sha256', text);
}
