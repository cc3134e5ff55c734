/** Everybody who hears of events at this gateway: each judged by rights that are renewed, under policies as they stand. */
import type { EventRecord, PositionedEvent } from '@svc/contract/events.ts';
import { keysOfResource, policyOfResource } from '@svc/contract/policy.ts';
import type { StatelessPlatform } from '@svc/runtime/platform.ts';
import { startEventFeed } from './event-feed.ts';
import type { EventSource, JudgedEvent } from './event-session.ts';
import type { GatewayMetrics } from './gateway-metrics.ts';
import type { Ports } from './ports.ts';
import { type RightsHolder, type RightsKeeper, startRightsKeeper } from './socket-rights.ts';

export interface EventMember extends RightsHolder {
  /** Events of one service, in order and each once; what of them it may hear is for the member to judge. */
  hear(service: string, events: readonly JudgedEvent[]): void;
}

export interface EventHub {
  /** Where members read what they missed. */
  readonly source: EventSource;
  join(member: EventMember): void;
  leave(member: EventMember): void;
  close(): Promise<void>;
}

export interface EventHubParts {
  readonly platform: Pick<StatelessPlatform, 'bus' | 'clock' | 'log'>;
  readonly ports: Ports;
  readonly metrics: Pick<GatewayMetrics, 'eventsDropped'>;
  /** Every service that has to be there has been heard of. */
  readonly isComplete: () => boolean;
}

export async function startEventHub({ platform, ports, metrics, isComplete }: EventHubParts): Promise<EventHub> {
  const members = new Set<EventMember>();
  const rights = await startRightsKeeper(platform, ports, () => members);
  const judge = (events: readonly PositionedEvent[]) => withPolicies(events, rights, ports);
  const feed = await startEventFeed({
    platform,
    onLost: metrics.eventsDropped,
    async deliver(service, events) {
      if (members.size === 0) return;
      const judged = await judge(events);
      for (const member of members) member.hear(service, judged);
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
  const attached = await ports.policiesOf(
    new Set(events.flatMap(({ event }) => resourcesOf(event).flatMap(keysOfResource))),
    stamp,
  );
  return events.map(({ position, event }) => ({
    position,
    event,
    policies:
      attached.size === 0 ? [] : resourcesOf(event).flatMap((resource) => policyOfResource(resource, attached) ?? []),
  }));
}

function resourcesOf({ payload }: EventRecord): readonly string[] {
  return 'resources' in payload ? payload.resources : [];
}
