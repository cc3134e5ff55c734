/** The smallest service there can be: a table, a tool, an event, a job and an operation for others. */
import { join } from 'node:path';
import { allow } from '@svc/contract/decision.ts';
import type { EventDeclaration } from '@svc/contract/event-declaration.ts';
import { defineOperations } from '@svc/contract/operation.ts';
import { toolFor } from '@svc/contract/tool.ts';
import type { Ids } from '@svc/runtime/clock.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { type Handlers, serveOperations } from '@svc/runtime/operations.ts';
import type { EventIn } from '@svc/runtime/outbox.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';
import { storeService } from '@svc/runtime/store-service.ts';
import { z } from 'zod';

const EIGHTH_EVENTS = {
  'note:added': {
    service: 'eighth',
    meaning: 'A note was added.',
    audience: 'operator',
    payload: z.strictObject({ noteId: z.string() }),
  },
} as const satisfies Record<string, EventDeclaration>;

/** `counted`: how many of the notes the job has seen. */
export const EIGHTH = defineOperations('eighth', {
  count: {
    effect: 'read',
    question: z.strictObject({}),
    answer: z.strictObject({ notes: z.int(), counted: z.int() }),
    askers: ['neighbour'],
  },
});

interface EighthDeps {
  readonly store: ServiceStore<EventIn<typeof EIGHTH_EVENTS>>;
  readonly ids: Ids;
}

const defineTool = toolFor<EighthDeps>();

const noteAdd = defineTool({
  name: 'note_add',
  area: 'note',
  description: 'Keeps a note.',
  input: z.strictObject({ text: z.string().max(100) }),
  output: z.strictObject({ noteId: z.string() }),
  access: 'identified',
  effect: 'write',
  refuses: [],
  example: { text: 'hello' },
  async handler({ text }, context) {
    const { store, ids } = context.deps;
    const outcome = await store.change(context, async ({ tx, emit }) => {
      const noteId = ids.next('note');
      await tx.$executeRawUnsafe('INSERT INTO eighth.notes (note_id, text) VALUES ($1, $2)', noteId, text);
      emit({ name: 'note:added', payload: { noteId } });
      return allow({ noteId });
    });
    return settled(context, outcome);
  },
});

const countNotes = (client: SqlClient) =>
  client.$executeRawUnsafe('UPDATE eighth.notes SET counted = true WHERE NOT counted');

const count: Handlers<typeof EIGHTH, EighthDeps>['count'] = async (_question, { deps }) => {
  const [row = { notes: 0, counted: 0 }] = await deps.store.client.$queryRawUnsafe<
    { notes: number; counted: number }[]
  >('SELECT count(*)::int AS notes, count(*) FILTER (WHERE counted)::int AS counted FROM eighth.notes');
  return row;
};

export const eighthService = storeService({
  name: 'eighth',
  tools: [noteAdd],
  events: EIGHTH_EVENTS,
  migrations: join(import.meta.dirname, 'prisma', 'migrations'),
  serve: (platform, deps: EighthDeps) => serveOperations(platform, { operations: EIGHTH, handlers: { count }, deps }),
  open: async ({ ids }, store) => ({
    deps: { store, ids },
    jobs: [{ id: 'eighth.count', everyMs: 1000, scope: 'cluster', run: () => countNotes(store.client) }],
  }),
});
