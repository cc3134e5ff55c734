/** A guide as its reader meets it: shell commands to paste, and beside them what the last of them says. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface GuideStep {
  readonly commands: string;
  /** Part of what the last command answers; null = the guide shows none. */
  readonly answer: unknown;
  /** The lines that the commands print last, with `…` for what differs; null = the guide shows none. */
  readonly lines: readonly string[] | null;
  readonly line: number;
}

const run = promisify(execFile);
const BLOCK = /^```(sh|json|text)\n([\s\S]*?)^```$/gm;
const SEPARATOR = '--- end of step ---';
/** Where clients of the examples find the libraries that a guide tells its reader to install. */
const WORK = join(import.meta.dirname, '..', 'node_modules', '.guides');

/** Shell blocks in order, each with the block that follows it before the next one and shows what comes. */
export function readGuide(path: string): GuideStep[] {
  const text = readFileSync(path, 'utf8');
  const steps: GuideStep[] = [];
  for (const { 1: kind, 2: body = '', index } of text.matchAll(BLOCK)) {
    const line = text.slice(0, index).split('\n').length;
    if (kind === 'sh') {
      steps.push({ commands: body, answer: null, lines: null, line });
      continue;
    }
    const step = steps.pop() ?? { commands: '', answer: null, lines: null, line };
    steps.push(
      kind === 'json' ? { ...step, answer: JSON.parse(body) } : { ...step, lines: body.trimEnd().split('\n') },
    );
  }
  return steps;
}

/** Pastes every step into one shell in a directory of its own, with the address replaced; the lines each of them printed. */
export async function followGuide(steps: readonly GuideStep[], url: string): Promise<string[][]> {
  const script = steps.map(({ commands }) => `${commands}\necho '${SEPARATOR}'`).join('\n');
  mkdirSync(WORK, { recursive: true });
  const cwd = mkdtempSync(join(WORK, 'guide-'));
  try {
    const pasted = script.replaceAll('http://127.0.0.1:3457', url);
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', pasted], { maxBuffer: 2 ** 24, cwd });
    const printed = stdout.split(`${SEPARATOR}\n`).slice(0, steps.length);
    return printed.map((text) => text.trim().split('\n'));
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

/** The settings that a guide shows, in their order. */
export function settingsIn(path: string): Record<string, string>[] {
  return [...readFileSync(path, 'utf8').matchAll(/^```env\n([\s\S]*?)^```$/gm)].map(([, lines = '']) =>
    Object.fromEntries(
      lines
        .trim()
        .split('\n')
        .map((line) => line.split('=', 2) as [string, string]),
    ),
  );
}

/** A line of a guide as a pattern. */
export function patternOf(line: string): RegExp {
  return new RegExp(`^${line.split('…').map(escaped).join('.+')}$`);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
