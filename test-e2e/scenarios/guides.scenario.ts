/** The guides do what they say: every command in them is pasted into a shell, every answer they show is what comes. */
import { join } from 'node:path';
import { expect } from 'vitest';
import { followGuide, readGuide } from '../instruments/guide.ts';
import { ownTarget, verifies } from '../verifies.ts';

const DOCS = join(import.meta.dirname, '..', '..', 'docs');
const target = ownTarget({}, 'embedded');

verifies(
  ['guides:access', 'guides:tokens', 'guides:boundaries', 'guides:budgets'],
  async () => {
    const { place } = target.get();
    for (const guide of ['access.md', 'tokens.md', 'boundaries.md', 'budgets.md']) {
      const steps = readGuide(join(DOCS, guide));
      const answers = await followGuide(steps, place.gateways[0] ?? '');
      const shown = steps.map(({ answer, line }, index) => ({ answer, line, printed: answers[index] ?? '' }));
      expect(shown.filter(({ answer }) => answer !== null).length).toBeGreaterThan(2);
      for (const { answer, line, printed } of shown) {
        if (answer !== null) expect(saidBy(printed), `${guide}, line ${line}`).toMatchObject(answer as object);
      }
    }
  },
  { on: target },
);

/** What a guide shows of a reply: the result without its envelope, or the error. */
function saidBy(printed: string): unknown {
  const { result, error } = JSON.parse(printed) as { result?: Record<string, unknown>; error?: unknown };
  if (result === undefined) return error;
  const { content } = result;
  return typeof content === 'object' && content !== null ? content : result;
}
