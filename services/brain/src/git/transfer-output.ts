/** What git says on its error output during a transfer: how far it is, apart from what is worth keeping. */
import { StringDecoder } from 'node:string_decoder';

export type TransferStage =
  | 'counting'
  | 'compressing'
  | 'receiving'
  | 'resolving'
  | 'writing'
  | 'unpacking'
  | 'checking';

export interface TransferProgress {
  readonly stage: TransferStage;
  /** Of this stage; null while git does not know. */
  readonly percent: number | null;
}

/** Titles that git gives its stages; whatever else a remote makes up is no progress. */
const STAGES: ReadonlyMap<string, TransferStage> = new Map([
  ['Enumerating objects', 'counting'],
  ['Counting objects', 'counting'],
  ['Finding sources', 'counting'],
  ['Compressing objects', 'compressing'],
  ['Receiving objects', 'receiving'],
  ['Resolving deltas', 'resolving'],
  ['Writing objects', 'writing'],
  ['Unpacking objects', 'unpacking'],
  ['Indexing objects', 'unpacking'],
  ['Checking connectivity', 'checking'],
  ['Checking objects', 'checking'],
]);
const PROGRESS = /^(?:remote: )?([A-Z][a-z]+ [a-z]+): +(?:(\d{1,3})% \(\d+\/\d+\)|\d+)(?:[,. ]|$)/;
/** What git does here, when no remote says so: a file of hundreds of megabytes takes it long, and it tells nothing meanwhile. */
const OWN_STAGES: ReadonlySet<TransferStage> = new Set(['counting', 'compressing', 'resolving', 'checking']);
const LONGEST_LINE = 4096;

export function parseProgress(line: string): TransferProgress | null {
  const [, title = '', percent] = PROGRESS.exec(line) ?? [];
  const stage = STAGES.get(title);
  if (stage === undefined) return null;
  return { stage, percent: percent === undefined ? null : Math.min(100, Number(percent)) };
}

/** Keeps the first and the last lines, `limit` characters at most: why git gave up stands at the end. */
export class TransferOutput {
  readonly #decoder = new StringDecoder('utf8');
  readonly #half: number;
  #line = '';
  #isAtWork = false;
  #head = '';
  #tail = '';

  constructor(limit: number) {
    this.#half = Math.floor(limit / 2);
  }

  /** By the last progress, git is at work here and waits for no remote. */
  get isAtWork(): boolean {
    return this.#isAtWork;
  }

  /** Returns the last progress that the bytes tell of, or null. */
  read(bytes: Buffer): TransferProgress | null {
    const lines = (this.#line + this.#decoder.write(bytes)).split(/[\r\n]/);
    const unfinished = lines.pop() ?? '';
    const isTooLong = unfinished.length > LONGEST_LINE;
    this.#line = isTooLong ? '' : unfinished;
    if (isTooLong) lines.push(unfinished);
    let last: TransferProgress | null = null;
    for (const line of lines) last = this.#take(line) ?? last;
    return last;
  }

  /** What was said beside the progress. */
  text(): string {
    this.#take(this.#line + this.#decoder.end());
    this.#line = '';
    return this.#head + this.#tail;
  }

  #take(line: string): TransferProgress | null {
    const progress = parseProgress(line);
    if (progress !== null) this.#isAtWork = !line.startsWith('remote: ') && OWN_STAGES.has(progress.stage);
    if (progress === null && line.trim() !== '') this.#keep(`${line.slice(0, LONGEST_LINE)}\n`);
    return progress;
  }

  #keep(line: string): void {
    if (this.#tail === '' && this.#head.length + line.length <= this.#half) this.#head += line;
    else this.#tail = (this.#tail + line).slice(-this.#half);
  }
}
