/** Sessions of work as they are told: of files and commits what the caller may know. */
import { z } from 'zod';
import { poolClient } from '@svc/runtime/transaction.ts';
import { defineOperation, list, page, type Served } from '../operations/operation.ts';
import type { CommitNames } from '../rules/commit-handles.ts';
import { EvolutionSummary, tellChanges } from './domain/evolution.ts';
import {
  type EvolutionEvent,
  type EvolutionRow,
  readEvents,
  readEvolution,
  readEvolutions,
  readLastInsights,
} from './evolution-rows.ts';

const Told = z.strictObject({
  summary: EvolutionSummary,
  insights: list(z.strictObject({ insight: z.string(), at: z.number() })),
});
export type ToldEvolution = z.output<typeof Told>;

function told(
  { rows }: Pick<Served, 'rows'>,
  { uncounted, name: id, insights, branch, by, startedAt, endedAt }: EvolutionRow,
  events: readonly EvolutionEvent[],
  names: CommitNames,
): ToldEvolution {
  const of = (kind: EvolutionEvent['kind']): EvolutionEvent[] => events.filter((event) => event.kind === kind);
  const kept = of('file').map(({ subject: file, times }) => ({ file, times }));
  return {
    summary: {
      id,
      branch,
      by,
      startedAt: Math.round(startedAt),
      endedAt: endedAt === null ? null : Math.round(endedAt),
      insights,
      ...tellChanges(kept, uncounted, rows),
      commits: of('commit').map(({ subject }) => subject),
    },
    insights: of('insight').map(({ text, at }) => ({ insight: names.shownText(text ?? ''), at: Math.round(at) })),
  };
}

/** `id`: of the row. Null when it is gone. */
export const tellEvolution = defineOperation({
  name: 'tellEvolution',
  effect: 'read',
  question: z.strictObject({ id: z.string() }),
  answer: Told.nullable(),
  async run(served, { id }) {
    const { client, brainId } = placeOf(served);
    const row = await readEvolution(client, brainId, id);
    if (row === null) return null;
    const names = await served.brain.namesFor(served.rows);
    return told(served, row, await readEvents(client, brainId, id), names);
  },
});

/** Of a page, in UTF-16 units; what comes after is for the next one. */
const PAGE_LENGTH = 400_000;

export const listEvolutions = defineOperation({
  name: 'listEvolutions',
  effect: 'read',
  question: z.strictObject({ workspace: z.string(), ...page }),
  answer: z.strictObject({ sessions: list(Told), next: z.string().nullable() }),
  async run(served, { workspace, ...position }) {
    const { client, brainId } = placeOf(served);
    const names = await served.brain.namesFor(served.rows);
    const found = await readEvolutions(client, brainId, workspace, position);
    const sessions: ToldEvolution[] = [];
    let length = 0;
    let last: string | null = null;
    for (const row of found.slice(0, position.limit)) {
      if (length > PAGE_LENGTH) return { sessions, next: last };
      const session = told(served, row, await readEvents(client, brainId, row.id), names);
      sessions.push(session);
      length += JSON.stringify(session).length;
      last = row.id;
    }
    return { sessions, next: found.length > position.limit ? last : null };
  },
});

/** What the workspace learned last on the brain, the newest first. */
export const listLastInsights = defineOperation({
  name: 'listLastInsights',
  effect: 'read',
  question: z.strictObject({ workspace: z.string(), limit: z.int() }),
  answer: list(z.string()),
  async run(served, { workspace, limit }) {
    const { client, brainId } = placeOf(served);
    const names = await served.brain.namesFor(served.rows);
    return (await readLastInsights(client, brainId, workspace, limit)).map((text) => names.shownText(text));
  },
});

function placeOf({ brain: { context } }: Pick<Served, 'brain'>) {
  return { client: poolClient(context.platform.database.pool), brainId: context.homes.home.id };
}
