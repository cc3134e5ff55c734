import type { AGORA_EVENTS } from '@svc/contract/events.agora.ts';
import type { EventIn } from '@svc/runtime/outbox.ts';
import type { ServiceStore } from '@svc/runtime/store.ts';

/** The database of agora, with the events that it may tell. */
export type AgoraStore = ServiceStore<EventIn<typeof AGORA_EVENTS>>;
