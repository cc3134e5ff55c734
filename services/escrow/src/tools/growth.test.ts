/** No call costs more than in proportion to the texts that it was given. */
import { migratedDatabase } from '@svc/testing/database.ts';
import { NASTY_TEXTS } from '@svc/testing/growth-texts.ts';
import { toolsThatGrow } from '@svc/testing/growth-tools.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EscrowNode, type Fields, startEscrowNode } from '../../testing/escrow-test-bed.ts';
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

/** Refusals are answers here, bugs are not. */
async function call(tool: string, args: Readonly<Fields>): Promise<void> {
  await node.call(tool, { ...args }).catch((error: Error) => {
    if (error.message === 'INTERNAL') throw error;
  });
}

test.each(NASTY_TEXTS)('%s in every argument of every tool', { timeout: 180_000 }, async (_name, text) => {
  expect(await toolsThatGrow(allTools, text, call)).toEqual([]);
});
