/** What a context could hold, as one caller sees it, before it is cut to a budget. */
import { allow, deny, type Decision } from '@svc/contract/decision.ts';
import { candidatePaths } from '@svc/contract/names.ts';
import type { IslandRow } from '../brain/islands.ts';
import type { ReadRefusal } from '../brain/open-brain.ts';
import { triggerMatcher } from '../domain/island/trigger.ts';
import { findFrontMatter } from '../domain/front-matter.ts';
import { readDirty } from '../operations/branches.ts';
import { type FileView, readFile } from '../operations/files.ts';
import { readHistoryPage } from '../operations/history.ts';
import { listLastInsights } from '../evolution/operations.ts';
import { readIsland } from '../operations/islands.ts';
import { viewLeaseOf } from '../operations/lease.ts';
import { listAttention } from '../relations/operations.ts';
import { searchStack } from '../retrieval/found.ts';
import { WORDS_ALONE } from '../retrieval/models.ts';
import { islandsOfStack } from '../tools/island-reading.ts';
import type { CallContext, Target } from '../tools/target.ts';
import type { Piece, Pieces } from './domain/assemble.ts';
import { INSIGHTS_TOLD } from './operations.ts';

/** Notes of the brain about itself, at its root, in this order. */
const CORE_NOTES = ['identity', 'goals', 'preferences', 'lessons', 'errors', 'reflection'].map((name) => `${name}.md`);
const PASSAGES = 40;
const COMMITS = 20;
const SHORT_COMMIT = 7;

export interface Wanted {
  readonly target: Target;
  /** Whose work is told of. */
  readonly workspace: string;
  readonly query: string | null;
  /** Names and descriptions; null = none are told. */
  readonly tools: readonly { readonly name: string; readonly description: string }[] | null;
}

type Found<Value> = Promise<Decision<Value, ReadRefusal>>;

export async function collectPieces(context: CallContext, { target, workspace, query, tools }: Wanted): Found<Pieces> {
  const notes = await piecesOfFiles(target, CORE_NOTES);
  if (!notes.ok) return notes;
  const islands = await islandPieces(context, target, query);
  if (!islands.ok) return islands;
  const history = await readCommits(target);
  if (!history.ok) return history;
  const { pieces: called, off } = islands.value;
  const told = new Set([...notes.value, ...called].flatMap(({ source }) => source?.file ?? []));
  for (const file of off) told.add(file);
  const knowledge = await (query === null
    ? attendedPieces(context, target, { workspace, changed: history.value.files, told })
    : foundPieces(target, query, told));
  if (!knowledge.ok) return knowledge;
  const dynamic = await statePieces(target);
  if (!dynamic.ok) return dynamic;
  const learned = await target.ask(listLastInsights, { workspace, limit: INSIGHTS_TOLD });
  return allow({
    static: notes.value,
    tools: listed(
      'Tools',
      (tools ?? []).map(({ name, description }) => `- ${name}: ${description}`),
    ),
    islands: called,
    knowledge: knowledge.value,
    history: [
      ...listed('Commits, newest first', history.value.lines),
      ...listed('Insights, newest first', learned.filter((text) => text.trim() !== '').map(lineOf)),
    ],
    dynamic: dynamic.value,
  });
}

/** Nothing when there are no lines. */
function listed(title: string, lines: readonly string[]): Piece[] {
  return lines.length === 0 ? [] : [{ title, text: lines.join('\n'), source: null }];
}

function lineOf(text: string): string {
  return `- ${text.replaceAll(/\s+/g, ' ').trim()}`;
}

/** Of those that are there, may be read and are text. */
async function piecesOfFiles({ ask, branch }: Target, files: readonly string[]): Found<Piece[]> {
  // Two names may mean one file.
  const pieces = new Map<string, Piece>();
  for (const path of files) {
    if (pieces.has(path)) continue;
    const answer = await ask(readFile, { branch, path, at: null });
    if (answer.ok && !pieces.has(answer.value.file)) pieces.set(answer.value.file, pieceOf(answer.value));
    else if (!answer.ok && (answer.code === 'E_BRANCH_ABSENT' || answer.code === 'E_REF_ABSENT'))
      return deny(answer.code, answer.details);
  }
  return allow([...pieces.values()]);
}

/** A file from its body on. */
function pieceOf({ file, content, commit, hash }: FileView): Piece {
  const body = file.endsWith('.md') ? (findFrontMatter(content)?.body ?? 0) : 0;
  const blank = /^\s*/.exec(content.slice(body))?.[0].length ?? 0;
  const from = body + blank;
  const line = content.slice(0, from).split('\n').length;
  return { title: file, text: content.slice(from), source: { file, line, commit, hash } };
}

interface IslandPieces {
  readonly pieces: Piece[];
  /** Files of islands that are switched off: nothing of them is told anywhere. */
  readonly off: readonly string[];
}

/** Islands that are switched on and that the query calls up, or that are always told, each with the files of its sources. */
async function islandPieces(context: CallContext, target: Target, query: string | null): Found<IslandPieces> {
  const { brain, branch } = target;
  const all = await islandsOfStack(context, { brain, branch }, null);
  if (!all.ok) return all;
  const matching = triggerMatcher(query ?? '');
  const called = all.value.flatMap(({ island }) => {
    const isCalled = island.always || (query !== null && matching(island.triggers).length > 0);
    return island.enabled && isCalled ? [island] : [];
  });
  const off = all.value.flatMap(({ island }) => (island.enabled ? [] : [island.file]));
  const files: string[] = [];
  for (const island of called) {
    const sources = await sourcesOf(target, island);
    if (!sources.ok) return sources;
    files.push(island.file, ...sources.value);
  }
  const told = files.filter((file) => !off.includes(file));
  const pieces = await piecesOfFiles(target, told);
  return pieces.ok ? allow({ pieces: pieces.value, off }) : pieces;
}

/** The files that an island brings with it. */
async function sourcesOf({ ask, branch }: Target, { name, source }: IslandRow): Found<readonly string[]> {
  if (source.length === 0) return allow([]);
  const loaded = await ask(readIsland, { branch, name, append: true });
  return loaded.ok ? allow(loaded.value?.files ?? []) : loaded;
}

interface Attending extends Pick<Wanted, 'workspace'> {
  readonly changed: readonly string[];
  readonly told: ReadonlySet<string>;
}

/** Files that got the most attention, the most first, and then those that were changed last. */
async function attendedPieces(
  { now }: CallContext,
  target: Target,
  { workspace, changed, told }: Attending,
): Found<Piece[]> {
  const attended = await target.ask(listAttention, { workspace, now });
  const files = attended.slice(0, PASSAGES).flatMap(({ name }) => candidatePaths(name));
  const wanted = new Set([...files, ...changed]);
  return piecesOfFiles(
    target,
    [...wanted].filter((file) => !told.has(file)),
  );
}

async function foundPieces(target: Target, query: string, told: ReadonlySet<string>): Found<Piece[]> {
  const request = {
    query,
    mode: 'hybrid',
    limit: PASSAGES,
    group: 'passage',
    pathPrefix: null,
    explain: false,
    bare: true,
    // What a model answers may change while the brain does not; the text of a context may not.
    models: WORDS_ALONE,
  } as const;
  const found = await searchStack([target], request);
  if (!found.ok) return found;
  return allow(
    found.value.rows.flatMap(({ file, content, lines: [line], commit, hash }) =>
      told.has(file) ? [] : [{ title: file, text: content, source: { file, line, commit, hash } }],
    ),
  );
}

interface Commits {
  readonly lines: string[];
  /** That they touched, those of the newest commit first. */
  readonly files: string[];
}

async function readCommits({ ask, branch }: Target): Found<Commits> {
  const answer = await ask(readHistoryPage, { branch, path: null, at: null, start: 0, limit: COMMITS });
  if (!answer.ok) return answer;
  const { rows } = answer.value;
  const lines = rows.map(({ commit, author, message }) => {
    const [subject = ''] = message.split('\n', 1);
    return `- ${commit.slice(0, SHORT_COMMIT)} ${subject} (${author})`;
  });
  return allow({ lines, files: [...new Set(rows.flatMap(({ files }) => files.map(({ file }) => file)))] });
}

async function statePieces({ ask, branch }: Target): Found<Piece[]> {
  const dirty = await ask(readDirty, { branch });
  if (!dirty.ok) return dirty;
  const lease = await ask(viewLeaseOf, {});
  const { files, count } = dirty.value;
  const more = count > files.length ? [`- and ${count - files.length} more`] : [];
  const changes = [...files.map(({ file, change }) => `- ${change} ${file}`), ...more];
  return allow([
    ...listed('Uncommitted files', changes),
    ...listed('Lease', lease.agentId === null ? [] : [`The brain is held by ${lease.agentId}.`]),
  ]);
}
