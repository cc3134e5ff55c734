/** What of links and attention the owner of a brain decides: about which names something may be noted and told. */
import { z } from 'zod';
import { CallError } from '@svc/contract/codes.ts';
import { poolClient } from '@svc/runtime/transaction.ts';
import { eventResources } from '../domain/resource-keys.ts';
import { defineOperation, list, noteDenial, type Served } from '../operations/operation.ts';
import type { RowView } from '../ports.ts';
import { attentionNow, byAttention, isRemembered } from './domain/attention.ts';
import { connectionsFrom, filesOfName, type Link } from './domain/link.ts';
import { shownNumber } from './domain/fading.ts';
import { readAttentionOf, readLinks } from './relation-rows.ts';

function mayTell({ isUnruled, mayRead }: RowView): (name: string) => boolean {
  return (name) => isUnruled || filesOfName(name).every((path) => mayRead(path));
}

/** For who may change the brain, and read all that the names may mean, whether or not it is there. */
export const identifyNames = defineOperation({
  name: 'identifyNames',
  effect: 'read',
  needs: 'change',
  namesCommits: false,
  question: z.strictObject({ names: list(z.string()) }),
  /** `resources`: whose readers may be told of them. */
  answer: z.strictObject({ id: z.string(), resources: list(z.string()) }),
  async run(served, { names }) {
    const { brain, rows } = served;
    const files = names.flatMap(filesOfName);
    const denied = files.find((path) => !rows.mayRead(path));
    if (denied !== undefined) {
      noteDenial(served, denied, 'read');
      throw new CallError('RLS_DENIED');
    }
    const { context } = brain;
    const resources = files.flatMap((path) => eventResources(context, path));
    return { id: context.homes.home.id, resources: [...new Set([`brain:${context.name}`, ...resources])] };
  },
});

async function linksToTell({ brain: { context }, rows }: Served): Promise<Link[]> {
  const links = await readLinks(poolClient(context.platform.database.pool), context.homes.home.id);
  const isTold = mayTell(rows);
  return links.filter(({ from, to }) => isTold(from) && isTold(to));
}

export const countLinks = defineOperation({
  name: 'countLinks',
  effect: 'read',
  namesCommits: false,
  question: z.strictObject({}),
  answer: z.int(),
  run: async (served) => (await linksToTell(served)).length,
});

const Connection = z.strictObject({ from: z.string(), to: z.string(), type: z.string(), depth: z.int() });

export const listConnections = defineOperation({
  name: 'listConnections',
  effect: 'read',
  namesCommits: false,
  question: z.strictObject({ start: z.string(), depth: z.int() }),
  answer: z.strictObject({ connections: list(Connection), nodes: z.int(), truncated: z.boolean() }),
  run: async (served, { start, depth }) => connectionsFrom(start, depth, await linksToTell(served)),
});

/**
 * What the workspace attends to in the brain, with how much it has now, the most first. `now`: ms since the epoch.
 * `workspace` empty = of those who are in none.
 */
export const listAttention = defineOperation({
  name: 'listAttention',
  effect: 'read',
  namesCommits: false,
  question: z.strictObject({ workspace: z.string(), now: z.number() }),
  answer: list(z.strictObject({ name: z.string(), value: z.number() })),
  async run({ brain: { context }, rows }, { workspace, now }) {
    const client = poolClient(context.platform.database.pool);
    const kept = await readAttentionOf(client, context.homes.home.id, workspace);
    const isTold = mayTell(rows);
    return kept
      .filter((one) => isRemembered(one, now) && isTold(one.name))
      .sort(byAttention)
      .map((one) => ({ name: one.name, value: shownNumber(attentionNow(one, now)) }));
  },
});
