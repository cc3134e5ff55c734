/** Everything that the command line takes from the process it runs in; `deploy/svc.ts` gives it. */
import type { Readable, Writable } from 'node:stream';

export interface TerminalStream extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

interface TerminalInput extends Readable {
  readonly isTTY?: boolean;
}

/** How `svc start` runs the node, in this process; resolves when it serves. */
export interface StartOptions {
  readonly environment: Readonly<Record<string, string>>;
}

export interface Surroundings {
  /** Without the program's own name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  readonly stdin: TerminalInput;
  readonly stdout: TerminalStream;
  readonly stderr: TerminalStream;
  /** Of this installation. */
  readonly version: string;
  start(options: StartOptions): Promise<void>;
  /** What Ctrl-C does from now on, in place of ending the command. */
  onInterrupt(act: () => void): void;
}
