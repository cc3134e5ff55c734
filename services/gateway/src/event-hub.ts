/** Everybody who hears of events at this gateway: each judged by rights that are renewed, under policies as they stand. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import type { PositionedEvent } from '@svc/contract/events.ts';
import { policiesOfEvents } from '@svc/runtime/event-policies.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { startEventFeed } from '@svc/runtime/event-feed.ts';
import type { EventSource, JudgedEvent } from './event-session.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import type { Ports } from './ports.ts';
import { type RightsHolder, type RightsKeeper, startRightsKeeper } from './socket-rights.ts';

export interface EventMember extends RightsHolder {
  /** Events of one service, in order and each once; what of them it may hear is for the member to judge. */
  hear(service: string, events: readonly JudgedEvent[]): void;
  /** What follows that position is told, whatever was told of the service before. Absent = it counts no positions. */
  setBack?(service: string, position: number): void;
}

export interface EventHub {
  /** Where members read what they missed. */
  readonly source: EventSource;
  join(member: EventMember): void;
  leave(member: EventMember): void;
  close(): Promise<void>;
}

interface EventHubParts {
  readonly platform: Pick<StatelessPlatform, 'bus' | 'clock' | 'log'>;
  readonly ports: Ports;
  readonly metrics: Pick<GatewayMetrics, 'eventsDropped'>;
  /** Every service that has to be there has been heard of. */
  readonly isComplete: () => boolean;
}

/**
 * How many are told between two turns of the event loop, in which sockets hand on what they were told: far fewer than
 * make a client a slow one, also when every service has as many to tell.
 */
const TOLD_AT_ONCE = 100;

export async function startEventHub({ platform, ports, metrics, isComplete }: EventHubParts): Promise<EventHub> {
  const members = new Set<EventMember>();
  const rights = await startRightsKeeper(platform, ports, () => members);
  const judge = (events: readonly PositionedEvent[]) => withPolicies(events, rights, ports);
  const feed = await startEventFeed({
    platform,
    onLost: (_service, count) => metrics.eventsDropped(count),
    onSetBack(service, position) {
      for (const member of members) member.setBack?.(service, position);
    },
    async deliver(service, events) {
      if (members.size === 0) return;
      const judged = await judge(events);
      for (let from = 0; from < judged.length; from += TOLD_AT_ONCE) {
        const some = judged.slice(from, from + TOLD_AT_ONCE);
        for (const member of members) member.hear(service, some);
        if (from + TOLD_AT_ONCE < judged.length) await turnOfTheLoop();
      }
    },
  });
  return {
    source: { positions: () => feed.positions(), isComplete, page: (...asked) => feed.page(...asked), judge },
    join: (member) => void members.add(member),
    leave: (member) => void members.delete(member),
    async close() {
      await rights.close();
      await feed.close();
    },
  };
}

/** Judged by what the registry stands at now, and only then: without its answer an event waits. */
async function withPolicies(
  events: readonly PositionedEvent[],
  rights: RightsKeeper,
  ports: Ports,
): Promise<readonly JudgedEvent[]> {
  const { stamp } = await rights.current();
  const policies = await policiesOfEvents(events, ports.policiesOf, stamp);
  return events.map(({ position, event }, index) => ({ position, event, policies: policies[index] ?? [] }));
}
