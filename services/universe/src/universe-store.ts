import type { UNIVERSE_EVENTS } from '@svc/contract/events.universe.ts';
import type { EventIn } from '@svc/runtime/outbox.ts';
import type { ServiceStore, Unit } from '@svc/runtime/store.ts';

export type UniverseEvent = EventIn<typeof UNIVERSE_EVENTS>;
/** The database of the universe, with the events that it may tell. */
export type UniverseStore = ServiceStore<UniverseEvent>;
export type Work = Pick<Unit<UniverseEvent>, 'tx' | 'emit' | 'lastly'>;
