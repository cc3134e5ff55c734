/** The real `svc`, in a pipe or at a terminal. */
import { spawn, type SpawnOptions } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { findExecutable } from '@svc/testing/servers/processes.ts';
import { scriptOf } from '../targets/bundle.ts';
import type { TargetPlace } from '../targets/target.ts';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly cwd?: string;
}

const PROJECT = join(import.meta.dirname, '..', '..');
/** As people start it. */
export const LAUNCHER = join(PROJECT, 'toolchain', 'svc.mjs');
const NODE = [process.execPath, '--disable-warning=ExperimentalWarning', scriptOf('deploy/svc.ts')];

/** Frames over each other in one line, and the end that takes the line away. */
const PROGRESS = /(?:\r\u001b\[K(?:\u001b\[\d+m)?[\u2800-\u28ff](?:\u001b\[\d+m)? [^\r\n]*)+\r\u001b\[K/g;

export class CommandLine {
  readonly #env: Readonly<Record<string, string | undefined>>;

  constructor({ gateways, key, root }: Pick<TargetPlace, 'gateways' | 'key' | 'root'>, session: string) {
    this.#env = {
      PATH: process.env['PATH'],
      TMPDIR: process.env['TMPDIR'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      HOME: root,
      LANG: 'C.UTF-8',
      TERM: 'xterm-256color',
      SVC_URL: gateways[0],
      SVC_SESSION: session,
      ...(key === null ? {} : { SVC_KEY: key }),
    };
  }

  run(args: readonly string[], options: CommandOptions = {}): Promise<Ended> {
    return this.program([...NODE, ...args], options);
  }

  /** Its JSON lines; throws when it did not end well. */
  async rows(...args: readonly string[]): Promise<Record<string, unknown>[]> {
    const { code, stdout, stderr } = await this.run(args);
    if (code !== 0) throw new Error(`svc ${args.join(' ')} ended with ${code}: ${stderr}`);
    return stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /**
   * What a person at a terminal of that width has seen in the end, with its colours and without the progress of what took
   * long; null where nothing makes a terminal.
   */
  async seen(args: readonly string[], { columns = 100, ...options }: CommandOptions & { columns?: number } = {}) {
    const script = findExecutable('script');
    if (script === null) return null;
    const command = `stty cols ${columns} rows 40; exec ${[...NODE, ...args].map(quoted).join(' ')}`;
    const ended = await this.program([script, '-qec', command, '/dev/null'], options);
    return { ...ended, stdout: ended.stdout.replaceAll(PROGRESS, '') };
  }

  async program(command: readonly string[], options: CommandOptions = {}): Promise<Ended> {
    const child = this.spawn(command, options, 'pipe');
    child.stdin?.end(options.stdin ?? '');
    const streams = [child.stdout, child.stderr].map((stream) => (stream === null ? '' : text(stream)));
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const [code, stdout = '', stderr = ''] = await Promise.all([ended, ...streams]);
    return { code, stdout, stderr };
  }

  /** One that runs until the test ends it. */
  start(args: readonly string[]) {
    return this.spawn([...NODE, ...args], {}, 'pipe');
  }

  spawn([file = '', ...args]: readonly string[], { env, cwd = PROJECT }: CommandOptions, stdio: SpawnOptions['stdio']) {
    return spawn(file, args, { cwd, env: { ...this.#env, ...env }, stdio: stdio ?? 'pipe' });
  }
}

export function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

export function withoutColour(text: string): string {
  return text.replaceAll(/\u001b\[[\d;]*m/g, '').replaceAll('\r\n', '\n');
}
