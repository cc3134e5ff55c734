/** What is recorded and told of changes of files, in the section that makes or notices them. */
import type { EventPayload } from '@svc/contract/events.ts';
import type { NewEvent } from '@svc/runtime/outbox.ts';
import { eventResources } from '../domain/resource-keys.ts';
import type { NoticedChange, NoticedDifferences } from '../files/noticed-changes.ts';
import type { HidesFields } from '../ports.ts';
import { type CatalogueChange, catalogueStatements } from '../store/catalogue.ts';
import type { WriteSection } from '../store/lease-store.ts';
import { Slices } from '../thread/slices.ts';
import type { BrainContext } from './context.ts';

export type ChangeSource = EventPayload<'brain:change'>['source'];

/** Where others changed something. */
interface NoticedPlace {
  readonly brain: BrainContext;
  readonly branch: string;
  readonly hides: HidesFields;
}

/** What is sent to the database at once: the first look at a large tree notices all that is in it. */
const RECORDED_AT_ONCE = 500;

/** Records what others changed. */
export async function recordNoticed(
  place: NoticedPlace,
  section: Pick<WriteSection, 'soon'>,
  noticed: NoticedDifferences,
  source: ChangeSource,
): Promise<void> {
  if (noticed.size === 0) return;
  const changes = noticed.changes();
  const slices = new Slices();
  for (let start = 0; start < changes.length; start += RECORDED_AT_ONCE) {
    recordChanges(place, section, changes.slice(start, start + RECORDED_AT_ONCE), source);
    if (slices.isOver) await slices.pause();
  }
}

function recordChanges(
  { brain, branch, hides }: NoticedPlace,
  section: Pick<WriteSection, 'soon'>,
  changes: readonly NoticedChange[],
  source: ChangeSource,
): void {
  const rows: CatalogueChange[] = changes.map(({ path, entry }) =>
    entry === null ? { removed: path } : { entry, by: source },
  );
  const events = changes.flatMap(({ path, change, entry }) => {
    if (change === 'known') return [];
    const hash = entry === null || entry.hash === '' || hides(path) ? null : entry.hash;
    return [changeEvent(brain, branch, { file: path, change, hash, by: source, source })];
  });
  recordSoon(brain, section, { branch, rows, events });
}

interface ToRecord {
  readonly branch: string;
  readonly rows: readonly CatalogueChange[];
  readonly events: readonly NewEvent[];
}

/** Nothing of the section sees either. */
export function recordSoon(
  brain: Pick<BrainContext, 'name' | 'outbox'>,
  { soon }: Pick<WriteSection, 'soon'>,
  { branch, rows, events }: ToRecord,
): void {
  for (const statement of catalogueStatements(brain.name, branch, rows)) soon(statement);
  const told = brain.outbox.statement(events);
  if (told !== null) soon(told);
}

/** `hash`: null of a removed file, and of one with hidden fields. */
type Change = Pick<EventPayload<'brain:change'>, 'file' | 'change' | 'hash' | 'by' | 'source'>;

export function changeEvent(
  brain: Pick<BrainContext, 'name' | 'homes'>,
  branch: string,
  change: Change,
): NewEvent<'brain:change'> {
  const resources = eventResources(brain, change.file);
  return { name: 'brain:change', payload: { ...change, brain: brain.name, branch, resources } };
}
