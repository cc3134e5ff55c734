/** A guide as its reader meets it: shell commands to paste, and beside them what the last one answers. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';

export interface GuideStep {
  readonly commands: string;
  /** Part of what the last command prints; null = the guide shows nothing. */
  readonly answer: unknown;
  readonly line: number;
}

const run = promisify(execFile);
const BLOCK = /^```(sh|json)\n([\s\S]*?)^```$/gm;
const SEPARATOR = '--- end of step ---';

/** Shell blocks in order, each with the JSON block that follows it before the next one. */
export function readGuide(path: string): GuideStep[] {
  const text = readFileSync(path, 'utf8');
  const steps: GuideStep[] = [];
  for (const { 1: kind, 2: body = '', index } of text.matchAll(BLOCK)) {
    const line = text.slice(0, index).split('\n').length;
    if (kind === 'sh') steps.push({ commands: body, answer: null, line });
    else steps.push({ ...(steps.pop() ?? { commands: '', line }), answer: JSON.parse(body) });
  }
  return steps;
}

/** Pastes every step into one shell, with the address of the guide replaced; what each of them printed last. */
export async function followGuide(steps: readonly GuideStep[], url: string): Promise<string[]> {
  const script = steps.map(({ commands }) => `${commands}\necho '${SEPARATOR}'`).join('\n');
  const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script.replaceAll('http://127.0.0.1:3457', url)], {
    maxBuffer: 2 ** 24,
  });
  const printed = stdout.split(`${SEPARATOR}\n`).slice(0, steps.length);
  return printed.map((text) => text.trim().split('\n').at(-1) ?? '');
}
