/** The log of events, and its copy in files. */
import { invalidArguments } from '@svc/runtime/arguments.ts';
import { settled } from '@svc/runtime/idempotency.ts';
import { z } from 'zod';
import { defineTool } from '../../deps.ts';
import type { EventLog } from '../event-log.ts';
import type { TailQuestion } from '../reader.ts';

const DEFAULT_TAIL = 50;
const MAX_TAIL = 1000;
const PLACES_LENGTH = 200;

const tailInput = z.strictObject({
  max: z.int().min(1).max(MAX_TAIL).optional().describe(`Events at most, default ${DEFAULT_TAIL}.`),
  nameFilter: z
    .string()
    .regex(/^[a-z][a-z0-9:-]{0,79}\*?$|^\*$/, 'must be a name of events, or its beginning and a *')
    .optional()
    .describe('Name of events, or with a final * whatever begins so.'),
  module: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be the name of a service or of an area')
    .optional()
    .describe('Service that tells them, or area of their names.'),
  after: z.string().min(1).max(100).optional().describe('Id of an event: those that came after it, oldest first.'),
  cursor: z
    .string()
    .min(1)
    .max(PLACES_LENGTH)
    .optional()
    .describe('nextCursor of a call that had looked at enough; the other arguments as there, without after.'),
});

const tail = defineTool({
  name: 'event_tail',
  area: 'events',
  description:
    'Read what has happened, as far as the caller may hear it: the newest events, or those after one it knows.',
  input: tailInput,
  output: z.strictObject({
    events: z
      .array(
        z.strictObject({
          id: z.string(),
          name: z.string(),
          at: z.number().describe('Ms since the epoch.'),
          node: z.string(),
          module: z.string().describe('Service that told it.'),
          workspace: z.string().nullable(),
          payload: z.record(z.string(), z.unknown()),
        }),
      )
      .describe('Oldest first.'),
    lastId: z.string().nullable().describe('What `after` goes on from: the last event shown, else what was asked for.'),
    nextCursor: z.string().optional().describe('There may be more that this call did not look at.'),
  }),
  access: 'identified',
  effect: 'read',
  refuses: ['E_EVENT_GONE'],
  example: { max: 10, nameFilter: 'brain:*' },
  async handler({ max = DEFAULT_TAIL, nameFilter, module, after, cursor }, { deps: { eventLog }, caller, take }) {
    const { events, ...rest } = take(
      await eventLog.tail(caller, { max, nameFilter, module, from: fromOf(eventLog, after, cursor) }),
    );
    return { events: [...events], ...rest };
  },
});

function fromOf(log: EventLog, after: string | undefined, cursor: string | undefined): TailQuestion['from'] {
  if (cursor === undefined) return after === undefined ? null : { after };
  const place = after === undefined ? log.open(cursor) : null;
  if (place !== null) return { place };
  const message = after === undefined ? 'is not a cursor' : 'is not taken beside after';
  throw invalidArguments([{ path: 'cursor', message }]);
}

const File = z.string().nullable().describe('Path of the file of the day.');
const Time = z.number().nullable();

const sinkEnable = defineTool({
  name: 'event_sink_enable',
  area: 'events',
  description: 'Copy every event from now on into a file a day in the data directory, or stop that.',
  input: z.strictObject({ value: z.boolean().optional().describe('Whether to copy, default true.') }),
  output: z.strictObject({
    enabled: z.boolean(),
    file: File,
    since: Time.describe('When the copy began, in ms since the epoch.'),
    changed: z.boolean(),
  }),
  access: 'operator',
  effect: 'write-idempotent',
  refuses: ['E_STATE_WRITE'],
  dress: { enabled: false },
  example: {},
  async handler({ value = true }, call) {
    return settled(call, await call.deps.eventLog.sink.switch(call, value));
  },
});

const sinkStats = defineTool({
  name: 'event_sink_stats',
  area: 'events',
  description: 'Show what the copy of the events in files and the log of events stand at.',
  input: z.strictObject({}),
  output: z.strictObject({
    enabled: z.boolean(),
    file: File,
    written: z.int().describe('Lines.'),
    dropped: z.int().describe('Events that the disk or the bound of a file left out.'),
    bytes: z.int(),
    lastAt: Time.describe('When something was written last.'),
    log: z.strictObject({
      rows: z.int(),
      oldestAt: Time,
      newestAt: Time,
      lagMs: z.number().describe('Age of the oldest event that is not in the log yet.'),
      lost: z.int().describe('Events that their services no longer kept when the log came to take them over.'),
    }),
  }),
  access: 'operator',
  effect: 'read',
  refuses: [],
  example: {},
  async handler(_none, { deps: { eventLog } }) {
    const [{ since: _since, ...sink }, log] = await Promise.all([eventLog.sink.state(), eventLog.standing()]);
    return { ...sink, log };
  },
});

export const eventTools = [tail, sinkEnable, sinkStats];
