/** The guides do what they say: every command in them is pasted into a shell, every answer they show is what comes. */
import { join } from 'node:path';
import { expect } from 'vitest';
import { followGuide, type GuideStep, patternOf, readGuide } from '../instruments/guide.ts';
import { ownTarget, verifies } from '../verifies.ts';

const DOCS = join(import.meta.dirname, '..', '..', 'docs');
const GUIDES = [
  'access.md',
  'tokens.md',
  'boundaries.md',
  'budgets.md',
  'market.md',
  'agora.md',
  'calls.md',
  'client.md',
  'listening.md',
  'mcp.md',
  'memory.md',
  'storage.md',
  'search.md',
  'temporary.md',
  'relations.md',
  'copies.md',
  'sandbox.md',
  'worlds.md',
  'queues.md',
  'crews.md',
];
const target = ownTarget({ SVC_RATE_LIMIT: 'on' }, { only: 'embedded', fresh: {} });

verifies(
  [
    'guides:access',
    'guides:tokens',
    'guides:boundaries',
    'guides:budgets',
    'guides:market',
    'guides:agora',
    'guides:calls',
    'guides:client',
    'guides:listening',
    'guides:mcp',
    'guides:memory',
    'guides:storage',
    'guides:search',
    'guides:temporary',
    'guides:relations',
    'guides:copies',
    'guides:sandbox',
    'guides:worlds',
    'guides:queues',
    'guides:crews',
  ],
  async () => {
    const { place } = target.get();
    for (const guide of GUIDES) {
      const steps = readGuide(join(DOCS, guide));
      const answers = await followGuide(steps, place.gateways[0] ?? '');
      expect(steps.filter(({ answer, lines }) => answer !== null || lines !== null).length).toBeGreaterThan(2);
      for (const [index, step] of steps.entries()) expectShown(guide, step, answers[index] ?? []);
    }
  },
  { on: target },
);

function expectShown(guide: string, { answer, lines, line }: GuideStep, printed: readonly string[]): void {
  const where = `${guide}, line ${line}`;
  if (answer !== null) expect(saidBy(printed.at(-1) ?? ''), where).toMatchObject(answer as object);
  if (lines === null) return;
  const last = printed.slice(-lines.length);
  for (const [index, shown] of lines.entries()) expect(last[index] ?? '', where).toMatch(patternOf(shown));
}

/** What a guide shows of a reply: the result without its envelope, or the error. */
function saidBy(printed: string): unknown {
  const { result, error } = JSON.parse(printed) as { result?: Record<string, unknown>; error?: unknown };
  if (result === undefined) return error;
  const { content } = result;
  return typeof content === 'object' && content !== null ? content : result;
}
