/** No call costs the registry more than in proportion to the texts that it was given. */
import { runs } from '@svc/testing/counts.ts';
import { type Args, answered } from '@svc/testing/growth.ts';
import { NASTY_TEXTS } from '@svc/testing/growth-texts.ts';
import { toolsThatGrow } from '@svc/testing/growth-tools.ts';
import { expect, test } from 'vitest';
import { useHabitat } from '../../testing/test-habitat.ts';
import { habitatTools } from './all.ts';

const { node } = useHabitat();

/** For every change each tool meets some of the texts, and together they meet all. */
const SHARES = 5;
const share = runs(SHARES);

const call = (tool: string, args: Args): Promise<void> => answered(node.call(tool, { ...args }));

test.each(NASTY_TEXTS.map(([name, text], index) => ({ name, text, index })))(
  '$name in the arguments of tools',
  { timeout: 300_000 },
  async ({ text, index }) => {
    const chosen = habitatTools.filter((_tool, at) => (at + index) % SHARES < share);
    expect(await toolsThatGrow(chosen, text, call)).toEqual([]);
  },
);
