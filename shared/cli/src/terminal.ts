/** Where output goes: text with colour for a person, JSON lines for a program, notes beside it. */
import { styleText } from 'node:util';
import type { Surroundings, TerminalStream } from './surroundings.ts';
import { jsonLine } from './visible.ts';

export type Paint = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan' | 'magenta';
/** `auto`: text at a terminal, JSON lines anywhere else. */
export type Form = 'auto' | 'json' | 'text';

export interface Progress {
  update(text: string): void;
  /** Takes its line away. */
  end(): void;
}

export interface Terminal {
  readonly isJson: boolean;
  /** A person sees the output as it comes. */
  readonly isSeen: boolean;
  /** A person can answer. */
  readonly canAsk: boolean;
  /** Cells in a line; Infinity where nobody counts them. */
  readonly columns: number;
  /** What was asked for; the text has no colour where none is wanted. */
  print(text: string): void;
  /** Bytes as they are, without a newline of ours. */
  raw(text: string): void;
  json(value: unknown): void;
  /** Something beside what was asked for, on stderr. */
  note(text: string): void;
  paint(style: Paint | readonly Paint[], text: string): string;
  paintNote(style: Paint | readonly Paint[], text: string): string;
  /** What takes long says so, where a person sees it. */
  progress(text: string): Progress;
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 80;
/** What is done sooner needs no progress. */
const QUIET_MS = 300;

type Streams = Pick<Surroundings, 'stdin' | 'stdout' | 'stderr' | 'env'>;

export function createTerminal({ stdin, stdout, stderr, env }: Streams, form: Form): Terminal {
  const isSeen = stdout.isTTY === true;
  const painter = (stream: TerminalStream) => {
    const isColoured = wantsColour(stream, env);
    return (style: Paint | readonly Paint[], text: string): string =>
      isColoured ? styleText(style as Paint | Paint[], text, { validateStream: false }) : text;
  };
  const paintNote = painter(stderr);
  return {
    isJson: form === 'json' || (form === 'auto' && !isSeen),
    isSeen,
    canAsk: stdin.isTTY === true && stderr.isTTY === true,
    columns: isSeen ? cellsOf(stdout) : Number.POSITIVE_INFINITY,
    print: (text) => void stdout.write(`${text}\n`),
    raw: (text) => void stdout.write(text),
    json: (value) => void stdout.write(`${jsonLine(value)}\n`),
    note: (text) => void stderr.write(`${text}\n`),
    paint: painter(stdout),
    paintNote,
    progress: (text) =>
      stderr.isTTY === true && env['TERM'] !== 'dumb' ? spinner(stderr, text, paintNote) : { update() {}, end() {} },
  };
}

/** A terminal that does not tell is taken for one of the usual width. */
function cellsOf({ columns = 0 }: TerminalStream): number {
  return columns > 0 ? columns : 80;
}

function wantsColour(stream: TerminalStream, env: Surroundings['env']): boolean {
  if ((env['NO_COLOR'] ?? '') !== '') return false;
  const forced = env['FORCE_COLOR'] ?? '';
  if (forced !== '') return forced !== '0';
  return stream.isTTY === true && env['TERM'] !== 'dumb';
}

function spinner(stream: TerminalStream, first: string, paint: Terminal['paintNote']): Progress {
  let [text, frame, isShown] = [first, 0, false];
  const draw = (): void => {
    isShown = true;
    frame = (frame + 1) % FRAMES.length;
    const room = Math.max(10, cellsOf(stream) - 3);
    stream.write(`\r\u001b[K${paint('cyan', FRAMES[frame] ?? '')} ${text.slice(0, room)}`);
  };
  let timer = setTimeout(() => {
    draw();
    timer = setInterval(draw, FRAME_MS);
  }, QUIET_MS);
  return {
    update(next) {
      text = next;
    },
    end() {
      clearTimeout(timer);
      if (isShown) stream.write('\r\u001b[K');
      isShown = false;
    },
  };
}
