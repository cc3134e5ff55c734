/** The parts that `test.ts` and `check.ts` run one after the other, and the sum of what they found. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FileSeconds } from './file-seconds.ts';
import { watchProcessors } from './processors.ts';

const root = join(import.meta.dirname, '..');
const SLOWEST_FILES = 15;

export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** A line or two for each failure of which more is known. */
  readonly failures?: readonly string[];
  /** Of those that took longest, with their seconds. */
  readonly slowest?: readonly FileSeconds[];
}

export interface Stage {
  readonly name: string;
  run(): Promise<Tally>;
}

interface VitestSelection {
  /** Parts of paths; none = every file of the projects. */
  readonly files?: readonly string[];
  /** As in `files`, of those that stay out. */
  readonly without?: readonly string[];
  /** Beside that of this process. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** A command that counts as one test. It stays silent unless it fails. */
export function commandStage(name: string, command: string, ...args: readonly string[]): Stage {
  return {
    name,
    async run() {
      const { exitCode, output } = await execute(command, args, { output: 'keep' });
      if (exitCode !== 0) process.stdout.write(`${output.trimEnd()}\n`);
      return exitCode === 0 ? { passed: 1, failed: 0, skipped: 0 } : { passed: 0, failed: 1, skipped: 0 };
    },
  };
}

/** Runs these vitest projects with their output streamed, and counts their tests. */
export function vitestStage(
  name: string,
  projects: readonly string[],
  { files = [], without = [], environment = {} }: VitestSelection = {},
): Stage {
  return {
    name,
    async run() {
      const folder = mkdtempSync(join(tmpdir(), 'svc-vitest-'));
      const report = join(folder, 'report.json');
      const seconds = join(folder, 'seconds.json');
      const selection = [
        ...projects.map((project) => `--project=${project}`),
        ...without.map((file) => `--exclude=**/${file}`),
      ];
      const reporters = ['default', 'json', './toolchain/file-seconds.ts'].map((reporter) => `--reporter=${reporter}`);
      const outputs = [`--outputFile.json=${report}`, `--outputFile.seconds=${seconds}`];
      try {
        const args = ['run', ...files, ...selection, ...reporters, ...outputs];
        const { exitCode } = await execute('vitest', args, { output: 'stream', environment });
        const slowest = slowestOf((readJson(seconds) ?? []) as FileSeconds[]);
        return { ...tallyOf(readJson(report) as VitestReport | null, exitCode), slowest };
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}

/** One stage of several that run at the same time: what mostly waits leaves a machine to others. */
export function sideBySide(name: string, stages: readonly Stage[]): Stage {
  return {
    name,
    async run() {
      const tallies = await Promise.all(stages.map((stage) => stage.run()));
      const failures = tallies.flatMap((tally) => tally.failures ?? []);
      return { ...sumOf(tallies), failures, slowest: slowestOf(tallies.flatMap((tally) => tally.slowest ?? [])) };
    },
  };
}

function sumOf(tallies: readonly Tally[]): Pick<Tally, 'passed' | 'failed' | 'skipped'> {
  const sum = (key: 'passed' | 'failed' | 'skipped') => tallies.reduce((total, tally) => total + tally[key], 0);
  return { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
}

/** What we read of vitest's JSON report. */
export interface VitestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/**
 * A file that broke before its tests were known counts as one failure; so does a run that ended badly although every
 * test passed, and a run in which nothing was tested.
 */
export function tallyOf(report: VitestReport | null, exitCode: number): Tally {
  if (report === null) return { passed: 0, failed: 1, skipped: 0 };
  const brokenFiles = report.testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  const failed = report.numFailedTests + brokenFiles.length;
  const skipped = report.numPendingTests + report.numTodoTests;
  const nothingTested = report.numPassedTests + failed + skipped === 0;
  const unexplained = failed === 0 && (exitCode !== 0 || nothingTested);
  const failures = [
    ...brokenFiles.map(({ name, message }) => failureLine(name, message)),
    ...report.testResults
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => failureLine(fullName, failureMessages[0] ?? '')),
  ];
  return { passed: report.numPassedTests, failed: failed + (unexplained ? 1 : 0), skipped, failures };
}

/** Enough to know what to look for further up. */
function failureLine(name: string, message: string): string {
  const firstLine = message.split('\n', 1)[0] ?? '';
  return `${name.slice(0, 200)}\n    ${firstLine.slice(0, 600)}`;
}

function slowestOf(files: readonly FileSeconds[]): FileSeconds[] {
  return [...files].sort((one, other) => other.seconds - one.seconds).slice(0, SLOWEST_FILES);
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

/** Runs all stages, also after a failure; ends with what failed and the sum. Returns the exit code. */
export async function runStages(stages: readonly Stage[]): Promise<number> {
  const rows: string[] = [];
  const slow: string[] = [];
  const tallies: Tally[] = [];
  for (const { name, run } of stages) {
    process.stdout.write(`\n── ${name}\n`);
    const startedAt = performance.now();
    const busyProcessors = watchProcessors();
    const tally = await run();
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const took = `${seconds.padStart(6)} s at ${busyProcessors().toFixed(1)} CPU`;
    const row = `${tally.failed === 0 ? 'ok    ' : 'FAILED'}  ${name.padEnd(18)} ${took}  ${sentence(tally)}`;
    process.stdout.write(`${row}\n`);
    rows.push(row);
    tallies.push(tally);
    if (tally.slowest !== undefined) slow.push(`\n── slowest files: ${name}`, ...tally.slowest.map(secondsLine));
  }
  const total = sumOf(tallies);
  const failures = tallies.flatMap((tally) => tally.failures ?? []).map((line) => `  ${line}\n`);
  if (slow.length > 0) process.stdout.write(`${slow.join('\n')}\n`);
  process.stdout.write(`\n── summary\n${rows.join('\n')}\n`);
  // Last, because that is what is read first of a long output, and what is left of one that was cut.
  if (failures.length > 0) process.stdout.write(`\n── failed\n${failures.join('')}`);
  process.stdout.write(`\n${sentence(total)}\n`);
  return total.failed === 0 ? 0 : 1;
}

function secondsLine({ file, seconds }: FileSeconds): string {
  return `${seconds.toFixed(1).padStart(8)} s  ${file}`;
}

function sentence({ passed, failed, skipped }: Tally): string {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}

/** For what a command that has ended said last. */
const LAST_WORDS_MS = 2000;

const running = new Set<ChildProcess>();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    for (const child of running) child.kill(signal);
    process.exit(1);
  });
}

interface Execution {
  /** `stream`: to where ours goes, in whole pieces; `keep`: returned. */
  readonly output: 'stream' | 'keep';
  readonly environment?: Readonly<Record<string, string>>;
}

function execute(
  command: string,
  args: readonly string[],
  { output, environment = {} }: Execution,
): Promise<{ exitCode: number; output: string }> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const colors = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
    const env = { ...process.env, ...colors, ...environment };
    const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    const take = (to: NodeJS.WriteStream) => (chunk: Buffer) => {
      if (output === 'keep') chunks.push(chunk);
      else to.write(chunk);
    };
    child.stdout.on('data', take(process.stdout));
    child.stderr.on('data', take(process.stderr));
    child.once('error', (error) => resolve({ exitCode: 1, output: `${command} cannot be run: ${error.message}` }));
    // What it left running may hold its output open for as long as it likes.
    child.once('exit', () => {
      const closing = setTimeout(
        () => [child.stdout, child.stderr].forEach((stream) => stream.destroy()),
        LAST_WORDS_MS,
      );
      child.once('close', () => clearTimeout(closing));
    });
    child.once('close', (code) => {
      running.delete(child);
      resolve({ exitCode: code ?? 1, output: Buffer.concat(chunks).toString() });
    });
  });
}
