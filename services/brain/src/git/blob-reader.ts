/** One long-lived `git cat-file --batch` per repository: reading a blob costs no process. */
import { type Git, GitError, objectId } from './run.ts';
import type { Dialogue } from './spawner.ts';

const QUIET_MS = 30_000;

/** What git has answered and we have not taken is in memory: so many questions are with git at a time. */
const ASKED_AT_ONCE = 32;

interface Question {
  readonly name: string;
  readonly resolve: (blob: Buffer | null) => void;
  readonly reject: (error: GitError) => void;
}

export class BlobReader implements Disposable {
  readonly #git: Git;
  readonly #gitDir: string;
  #session: ReaderSession | null = null;

  constructor(git: Git, gitDir: string) {
    this.#git = git;
    this.#gitDir = gitDir;
  }

  /** The object's bytes, or null when the repository does not have it. Throws GitError. */
  read(oid: string): Promise<Buffer | null> {
    return this.#ask(objectId(oid));
  }

  /** As `read`, the tree of a commit. */
  readTreeOf(commit: string): Promise<Buffer | null> {
    return this.#ask(`${objectId(commit)}^{tree}`);
  }

  #ask(name: string): Promise<Buffer | null> {
    if (this.#session === null || this.#session.ended) {
      this.#session = new ReaderSession(this.#git, this.#gitDir);
    }
    return this.#session.ask(name);
  }

  /** Ends the process; a later read starts a new one. */
  [Symbol.dispose](): void {
    this.#session?.end('closed');
    this.#session = null;
  }
}

/** The life of one process. Answers come in the order of the questions. */
class ReaderSession {
  readonly #dialogue: Dialogue;
  readonly #questions: Question[] = [];
  /** So many of the questions, the first ones, are with git. */
  #asked = 0;
  readonly #quiet: NodeJS.Timeout;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #needed = 1;
  ended = false;

  constructor(git: Git, gitDir: string) {
    this.#dialogue = git.start(
      { args: ['cat-file', '--batch'], gitDir },
      { output: (bytes) => this.#receive(bytes), closed: () => this.end('ended') },
    );
    this.#quiet = setTimeout(() => this.end('no answer in time'), QUIET_MS);
    this.#quiet.unref();
  }

  ask(name: string): Promise<Buffer | null> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer | null>();
    this.#questions.push({ name, resolve, reject });
    this.#quiet.refresh();
    this.#askMore();
    return promise;
  }

  #askMore(): void {
    const next = this.#questions.slice(this.#asked, ASKED_AT_ONCE);
    if (next.length === 0) return;
    this.#asked += next.length;
    this.#dialogue.write(next.map(({ name }) => `${name}\n`).join(''));
  }

  end(reason: string): void {
    if (this.ended) return;
    this.ended = true;
    clearTimeout(this.#quiet);
    this.#dialogue.kill();
    for (const { reject } of this.#questions) reject(new GitError('exit', `git cat-file: ${reason}`));
  }

  #receive(chunk: Buffer): void {
    this.#quiet.refresh();
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes >= this.#needed && this.#takeAnswer());
    if (!this.ended) this.#askMore();
  }

  /** Takes one whole answer off the front; false when more bytes are needed first. */
  #takeAnswer(): boolean {
    const [only] = this.#chunks;
    const buffer = only !== undefined && this.#chunks.length === 1 ? only : Buffer.concat(this.#chunks);
    this.#chunks = [buffer];
    const headerEnd = buffer.indexOf(10);
    if (headerEnd < 0) return false;
    const header = buffer.toString('latin1', 0, headerEnd);
    const size = /^[0-9a-f]{40} [a-z]+ (\d+)$/.exec(header)?.[1];
    const bodyStart = headerEnd + 1;
    const answerEnd = size === undefined ? bodyStart : bodyStart + Number(size) + 1;
    if (buffer.length < answerEnd) {
      this.#needed = answerEnd;
      return false;
    }
    this.#needed = 1;
    this.#bytes = buffer.length - answerEnd;
    this.#chunks = [buffer.subarray(answerEnd)];
    this.#asked -= 1;
    // a copy, so that a small blob does not keep a large buffer alive
    this.#questions
      .shift()
      ?.resolve(size === undefined ? null : Buffer.from(buffer.subarray(bodyStart, answerEnd - 1)));
    return true;
  }
}
