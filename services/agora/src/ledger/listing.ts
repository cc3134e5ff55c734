/** Pages of topics that somebody may see: rows are judged as they are read, a bounded number of them for each page. */
import { encodeCursor } from '@svc/contract/params.ts';
import type { Caller } from '@svc/contract/tool.ts';
import { invalidArguments } from '@svc/runtime/arguments.ts';
import type { Position } from '@svc/runtime/paging.ts';
import { readable } from '../access.ts';
import type { AgoraDeps } from '../deps.ts';
import type { TopicFilter, TopicRow } from './store/topic-rows.ts';

const READ_AT_ONCE = 500;
/** Of rows that the caller may not see; then the page ends, with a cursor to go on from. */
const MOST_READ = 10_000;

interface Question {
  readonly filter: TopicFilter;
  readonly viewer: string | null;
  readonly position: Position;
}

interface TopicPage {
  readonly rows: readonly TopicRow[];
  readonly next: { readonly nextCursor?: string };
}

export async function pageOfTopics(
  deps: Pick<AgoraDeps, 'ledgers' | 'registry'>,
  caller: Caller,
  { filter, viewer, position }: Question,
): Promise<TopicPage> {
  if (position.after !== null && !/^\d{1,18}$/.test(position.after)) {
    throw invalidArguments([{ path: 'cursor', message: 'is not a cursor' }]);
  }
  const rows: TopicRow[] = [];
  let { after } = position;
  for (let read = 0; read < MOST_READ; ) {
    const batch = await deps.ledgers.list(filter, { after, limit: READ_AT_ONCE });
    rows.push(...(await readable(deps, caller, { rows: batch, viewer })));
    if (rows.length > position.limit) return cut(rows, position.limit);
    if (batch.length < READ_AT_ONCE) return { rows, next: {} };
    after = batch.at(-1)?.ordinal ?? null;
    read += batch.length;
  }
  return { rows, next: { nextCursor: encodeCursor(after ?? '') } };
}

function cut(rows: readonly TopicRow[], limit: number): TopicPage {
  const page = rows.slice(0, limit);
  return { rows: page, next: { nextCursor: encodeCursor(page.at(-1)?.ordinal ?? '') } };
}
