/** Whether each code that a tool declares was answered to some test of a run, and each declared event was heard by one. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EVENTS } from '../shared/contract/src/events.ts';
import { declaredTools } from './declared-tools.ts';
import type { ServiceTools } from './docs-tools.ts';
import type { Stage, Tally } from './stages.ts';

/** What is declared: tool -> codes. */
type Codes = ReadonlyMap<string, readonly string[]>;

interface Declared {
  readonly codes: Codes;
  readonly events: readonly string[];
}

export interface Verdict {
  readonly seen: number;
  /** A line for each tool with codes that nothing provoked, and for each event that nobody heard. */
  readonly missing: readonly string[];
}

const EVENT = 'event';

export function codesOf(services: readonly ServiceTools[]): Codes {
  const tools = services.flatMap((service) => service.tools);
  return new Map(tools.map(({ name, refuses, raises }) => [name, [...new Set<string>([...refuses, ...raises])]]));
}

/** `seen`: lines as shared/testing/src/seen.ts writes them. */
export function judge({ codes, events }: Declared, seen: ReadonlySet<string>): Verdict {
  const declared = [...codes, [EVENT, events] as const];
  const lines = declared.flatMap(([name, all]) => all.map((one) => `${name} ${one}`));
  const missing = declared.flatMap(([name, all]) => {
    const never = all.filter((one) => !seen.has(`${name} ${one}`));
    if (never.length === 0) return [];
    return [name === EVENT ? `no test hears ${never.join(', ')}` : `no test provokes ${never.join(', ')} of ${name}`];
  });
  return { seen: lines.filter((line) => seen.has(line)).length, missing };
}

/** Tells the tests that begin from now on to say what they see; the stage judges all of it at the end. */
export function provokedStage(environment: NodeJS.ProcessEnv): Stage {
  const folder = mkdtempSync(join(tmpdir(), 'svc-seen-'));
  environment['SVC_TEST_SEEN'] = folder;
  return {
    name: 'codes and events',
    async run() {
      try {
        const lines = readdirSync(folder).flatMap((file) => readFileSync(join(folder, file), 'utf8').split('\n'));
        return await tallyOf(new Set(lines));
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
}

async function tallyOf(seen: ReadonlySet<string>): Promise<Tally> {
  const away = [...seen].filter((line) => line.startsWith('without '));
  if (away.length > 0) {
    process.stdout.write(
      `SKIPPED: what is provoked is judged by whole runs alone, and this one was ${away.join(', ')}\n`,
    );
    return { passed: 0, failed: 0, skipped: 1 };
  }
  const declared = { codes: codesOf(await declaredTools()), events: Object.keys(EVENTS) };
  const verdict = judge(declared, seen);
  return { passed: verdict.seen, failed: verdict.missing.length, skipped: 0, failures: verdict.missing };
}
