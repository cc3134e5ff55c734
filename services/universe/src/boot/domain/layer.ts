/** The layers of a deployment, in the order in which each needs those before it. */

export type LayerState = 'up' | 'degraded' | 'down' | 'off';

export const LAYERS = [
  'config',
  'store',
  'bus',
  'queue',
  'habitat',
  'escrow',
  'brain',
  'agora',
  'market',
  'universe',
  'sandbox',
  'sync',
] as const;
export type LayerName = (typeof LAYERS)[number];

/** Without these work goes on: limits and schedules are less exact, or something optional is missing. */
const OPTIONAL: ReadonlySet<LayerName> = new Set(['queue', 'sandbox', 'sync']);

interface LayerView {
  readonly name: LayerName;
  readonly state: LayerState;
}

/** Names of the needed layers that are down. */
export function downOf(layers: readonly LayerView[]): LayerName[] {
  return layers.flatMap(({ name, state }) => (state === 'down' && !OPTIONAL.has(name) ? [name] : []));
}

export function upOf(layers: readonly LayerView[]): LayerName[] {
  return layers.flatMap(({ name, state }) => (state === 'up' ? [name] : []));
}

/** Of something with parts that each are switched on or off. */
export function stateOfParts(parts: readonly { readonly enabled: boolean; readonly ready: boolean }[]): LayerState {
  const enabled = parts.filter((part) => part.enabled);
  if (enabled.length === 0) return 'off';
  const ready = enabled.filter((part) => part.ready);
  return ready.length === enabled.length ? 'up' : ready.length > 0 ? 'degraded' : 'down';
}

/** The task of a session in the registry: no two sessions share one. */
export function bootTask(session: string, taskId: string): string {
  return `boot.${session.slice(0, 16)}.${taskId}`;
}
