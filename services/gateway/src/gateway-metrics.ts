/** What the gateway measures. Labels are bounded: tools, codes, doors, services, plans. */
import { watchEventLoop } from '@svc/runtime/event-loop.ts';
import type { Metrics } from '@svc/runtime/metrics.ts';
import type { PlanName } from '@svc/contract/registry.ts';

/** `inner`: what services ask for in the name of callers. */
export type Door = 'call' | 'exec' | 'mcp' | 'socket' | 'inner';

/** Label of calls that name no known tool. */
const NO_TOOL = 'none';

/** The figures of one tool, looked up once and then only counted. */
export interface ToolMeter {
  counted(code: string, door: Door): void;
  took(seconds: number): void;
  bus(outcome: string): void;
}

/** `memory` = without asking the registry. */
export interface TokenMeter {
  verified(source: 'memory' | 'registry', seconds: number): void;
}

export interface GatewayMetrics {
  readonly tokens: TokenMeter;
  toolMeter(service: string, tool: string): ToolMeter;
  readonly unknownTool: ToolMeter;
  rateLimited(plan: PlanName | 'failed-credentials'): void;
  authFailed(): void;
  sockets(change: 1 | -1): void;
  streams(change: 1 | -1): void;
  connections(change: 1 | -1): void;
  /** `address`: one client has too many; `all`: all together have. */
  connectionRefused(bound: 'address' | 'all'): void;
  eventsDropped(count: number): void;
  /** Names of the checks that are wrong although the gateway serves. */
  degraded(names: readonly string[]): void;
  /** Of the last whole second. */
  eventLoopDelayMs(): number;
  /** What the event loop did until now was the start. */
  started(): void;
  close(): void;
}

export function createGatewayMetrics(metrics: Metrics): GatewayMetrics {
  const calls = metrics.counter('svc_calls_total', 'Calls by tool, code and door.', ['tool', 'code', 'door']);
  const seconds = metrics.histogram('svc_call_seconds', 'Time from the request to its reply.', ['tool']);
  const bus = metrics.counter('svc_bus_requests_total', 'Requests to services.', ['service', 'outcome']);
  const limited = metrics.counter('svc_rate_limited_total', 'Requests beyond a limit.', ['plan']);
  const failed = metrics.counter('svc_auth_failed_total', 'Wrong credentials.');
  const sockets = metrics.gauge('svc_sockets', 'Open event sockets.');
  const streams = metrics.gauge('svc_mcp_streams', 'Open event streams of the Model Context Protocol.');
  const connections = metrics.gauge('svc_connections', 'Open connections.');
  const refused = metrics.counter('svc_connections_refused_total', 'Connections beyond a bound.', ['bound']);
  const dropped = metrics.counter('svc_events_dropped_total', 'Events that a socket did not get.');
  const loop = watchEventLoop(metrics);

  function toolMeter(service: string, tool: string): ToolMeter {
    const counters = new Map<string, { inc(): void }>();
    const outcomes = new Map<string, { inc(): void }>();
    const timer = seconds.labels(tool);
    return {
      counted(code, door) {
        const key = `${door} ${code}`;
        let counter = counters.get(key);
        if (counter === undefined) counters.set(key, (counter = calls.labels(tool, code, door)));
        counter.inc();
      },
      took: (elapsed) => timer.observe(elapsed),
      bus(outcome) {
        let counter = outcomes.get(outcome);
        if (counter === undefined) outcomes.set(outcome, (counter = bus.labels(service, outcome)));
        counter.inc();
      },
    };
  }

  return {
    tokens: tokenMeter(metrics),
    toolMeter,
    unknownTool: toolMeter(NO_TOOL, NO_TOOL),
    rateLimited: (plan) => limited.inc({ plan }),
    authFailed: () => failed.inc(),
    sockets: (change) => sockets.inc(change),
    streams: (change) => streams.inc(change),
    connections: (change) => connections.inc(change),
    connectionRefused: (bound) => refused.inc({ bound }),
    eventsDropped: (count) => dropped.inc(count),
    degraded: degradedMeter(metrics),
    eventLoopDelayMs: loop.delayMs,
    started: loop.restart,
    close: loop.close,
  };
}

function degradedMeter(metrics: Metrics): GatewayMetrics['degraded'] {
  const degraded = metrics.gauge('svc_degraded', 'Checks that are degraded now: 1 each.', ['check']);
  return (names) => {
    degraded.reset();
    for (const check of names) degraded.set({ check }, 1);
  };
}

function tokenMeter(metrics: Metrics): TokenMeter {
  const seconds = metrics.histogram(
    'svc_token_verification_seconds',
    'Time to verify a token, from memory or by asking the registry.',
    ['source'],
  );
  const sources = { memory: seconds.labels('memory'), registry: seconds.labels('registry') };
  return { verified: (source, elapsed) => sources[source].observe(elapsed) };
}
