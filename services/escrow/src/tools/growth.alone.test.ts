/** No call costs more than in proportion to the texts that it was given. */
import { migratedDatabase } from '@svc/testing/database.ts';
import { type Args, answered } from '@svc/testing/growth.ts';
import { NASTY_TEXTS } from '@svc/testing/growth-texts.ts';
import { toolsThatGrow } from '@svc/testing/growth-tools.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EscrowNode, startEscrowNode } from '../../testing/escrow-test-bed.ts';
import { allTools } from './all.ts';

const database = await migratedDatabase();
let node: EscrowNode;
beforeAll(async () => {
  node = await startEscrowNode(database);
});
afterAll(async () => {
  await node.stop();
  await database.close();
});

const call = (tool: string, args: Args): Promise<void> => answered(node.call(tool, { ...args }));

test.each(NASTY_TEXTS)('%s in every argument of every tool', async (_name, text) => {
  expect(await toolsThatGrow(allTools, text, call)).toEqual([]);
});
