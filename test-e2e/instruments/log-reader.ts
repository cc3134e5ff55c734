/** Reading the log of events page by page. */
import type { Caller, Fields } from '../client.ts';
import { waitFor } from './wait-for.ts';

export interface LoggedEvent {
  readonly id: string;
  readonly name: string;
  readonly at: number;
  readonly node: string;
  readonly module: string;
  readonly workspace: string | null;
  readonly payload: Fields;
}

interface LogPage extends Fields {
  readonly events: readonly LoggedEvent[];
  readonly lastId: string | null;
  readonly nextCursor?: string;
}

export function tail(reader: Caller, args: Fields = {}): Promise<LogPage> {
  return reader.ok<LogPage>('event_tail', args);
}

/** The id of the newest event that the log has, of that service if one is named; waits for the first. */
export function newestId(operator: Caller, wanted: Fields = {}): Promise<string> {
  return waitFor(async () => (await tail(operator, { max: 1, ...wanted })).lastId, {
    what: 'the first event in the log',
  });
}

/** All that followed an event and that the reader may hear. */
export async function allAfter(reader: Caller, after: string, wanted: Fields = {}): Promise<LoggedEvent[]> {
  const events: LoggedEvent[] = [];
  let page = await tail(reader, { max: 1000, after, ...wanted });
  for (;;) {
    events.push(...page.events);
    if (page.nextCursor !== undefined) page = await tail(reader, { max: 1000, cursor: page.nextCursor, ...wanted });
    else if (page.events.length > 0) page = await tail(reader, { max: 1000, after: page.lastId, ...wanted });
    else return events;
  }
}
