/** Files of brains as resources: how they are addressed, and which of them an event tells of. */
import type { EventPayload, EventRecord } from '@svc/contract/events.ts';
import { candidatePaths } from '@svc/contract/extension-rule.ts';
import { normalPath } from '@svc/contract/names.ts';

export const RESOURCE_SCHEME = 'brain:///';

interface ResourcePlace {
  readonly brain: string;
  /** The path, as brain_read takes it. */
  readonly name: string;
}

export function resourceUri(brain: string, file: string): string {
  return `${RESOURCE_SCHEME}${[brain, ...file.split('/')].map(encodeURIComponent).join('/')}`;
}

/** Null when it is no address of a file. */
export function resourcePlace(uri: string): ResourcePlace | null {
  if (!uri.startsWith(RESOURCE_SCHEME)) return null;
  try {
    const [brain = '', ...segments] = uri.slice(RESOURCE_SCHEME.length).split('/').map(decodeURIComponent);
    const name = segments.join('/');
    return brain === '' || name === '' ? null : { brain, name };
  } catch {
    return null;
  }
}

/** The files that somebody wants to hear of, each under the address by which it was asked for. */
export class WantedResources {
  readonly #byPlace = new Map<string, Set<string>>();

  /** Addresses of nothing are passed over. */
  constructor(uris: readonly string[]) {
    for (const uri of uris) {
      const place = resourcePlace(uri);
      if (place === null) continue;
      for (const path of candidatePaths(normalPath(place.name))) this.#add(keyOf(place.brain, path), uri);
    }
  }

  #add(key: string, uri: string): void {
    const uris = this.#byPlace.get(key);
    if (uris === undefined) this.#byPlace.set(key, new Set([uri]));
    else uris.add(uri);
  }

  touchedBy({ brain, file }: ResourceChange): readonly string[] {
    if (file !== null) return [...(this.#byPlace.get(keyOf(brain, file)) ?? [])];
    const within = keyOf(brain, '');
    return [...this.#byPlace].flatMap(([key, uris]) => (key.startsWith(within) ? [...uris] : []));
  }
}

/** Names of brains have no slash. */
function keyOf(brain: string, path: string): string {
  return `${brain}/${path}`;
}

interface ResourceChange {
  readonly brain: string;
  /** Null = all of the brain. */
  readonly file: string | null;
  /** Whether lists of resources are others now. */
  readonly isListed: boolean;
}

/**
 * What an event says of resources to whom `shown` of its payload is shown. A listener from whom it hides which file or brain it
 * was hears nothing.
 */
export function resourceChangesOf(event: EventRecord, shown: Readonly<Record<string, unknown>>): ResourceChange[] {
  const isShown = (...members: string[]): boolean =>
    members.every((member) => shown[member] === fieldOf(event, member));
  switch (event.name) {
    case 'brain:change': {
      if (!isShown('brain', 'file')) return [];
      const { brain, file, change } = event.payload as EventPayload<'brain:change'>;
      return [{ brain, file, isListed: change !== 'updated' }];
    }
    case 'brain:deleted':
      return isShown('brain') ? [wholeBrain(String(shown['brain']))] : [];
    case 'brain:renamed':
      return isShown('brain', 'to') ? [shown['brain'], shown['to']].map((brain) => wholeBrain(String(brain))) : [];
    default:
      return [];
  }
}

function fieldOf({ payload }: EventRecord, member: string): unknown {
  return Object.hasOwn(payload, member) ? (payload as Record<string, unknown>)[member] : undefined;
}

function wholeBrain(brain: string): ResourceChange {
  return { brain, file: null, isListed: true };
}
