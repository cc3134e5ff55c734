/** Every event of the system: who emits it, what it carries, who may hear it. Payloads carry names, never contents. */
import type { z } from 'zod';
import { AGORA_EVENTS } from './events.agora.ts';
import { BRAIN_EVENTS } from './events.brain.ts';
import { ESCROW_EVENTS } from './events.escrow.ts';
import { HABITAT_EVENTS } from './events.habitat.ts';
import { MARKET_EVENTS } from './events.market.ts';
import { UNIVERSE_EVENTS } from './events.universe.ts';

export type { Audience } from './event-declaration.ts';

export const EVENTS = {
  ...BRAIN_EVENTS,
  ...HABITAT_EVENTS,
  ...ESCROW_EVENTS,
  ...MARKET_EVENTS,
  ...AGORA_EVENTS,
  ...UNIVERSE_EVENTS,
};

export type EventName = keyof typeof EVENTS;
export type EventPayload<Name extends EventName> = z.output<(typeof EVENTS)[Name]['payload']>;

/** An event as it is stored and carried: common fields beside the payload. */
export interface EventRecord<Name extends EventName = EventName> {
  readonly id: string;
  readonly name: Name;
  readonly at: number;
  readonly node: string;
  /** Workspace whose members may hear it; absent = every reader of its resources. */
  readonly workspace?: string;
  readonly payload: EventPayload<Name>;
}

/** An event on the bus. `position` counts the events of one service without gaps, for the gateways alone. */
export interface PositionedEvent {
  readonly position: number;
  readonly event: EventRecord;
}
