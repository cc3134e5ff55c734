/** Events of items of work. */
import type { UniverseEvent, Work } from '../universe-store.ts';
import { hearersOf } from './domain/stream.ts';
import type { LockedWork } from './work-rows.ts';

/** With what tells, when it is done, that somebody waits to hear what became of tasks. */
export interface Told extends Work {
  report(...locked: readonly LockedWork[]): Promise<void>;
}

type EventName = 'stream:claimed' | 'stream:released' | 'stream:completed' | 'stream:failed' | 'stream:dead';
type Standard = 'stream' | 'id' | 'seq' | 'parties';
type More<Name extends EventName> = Omit<Extract<UniverseEvent, { name: Name }>['payload'], Standard>;

export function tell<Name extends EventName>(
  { emit }: Pick<Work, 'emit'>,
  { work, workspace }: Pick<LockedWork, 'work' | 'workspace'>,
  name: Name,
  more: More<Name>,
): void {
  const { stream, id, seq } = work;
  const { parties, ...where } = hearersOf({ workspace, stream });
  emit({ name, ...where, payload: { stream, id, seq, ...more, parties } } as Extract<UniverseEvent, { name: Name }>);
}
