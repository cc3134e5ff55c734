/** Who listens on one stream: what it asked to hear, as far as it may. */
import type { EventMember } from '../event-hub.ts';
import type { JudgedEvent } from '../event-session.ts';
import { resourceChangesOf, WantedResources } from '../domain/brain-resources.ts';
import { visiblePayload } from '@svc/contract/event-visibility.ts';
import type { SocketRights } from '../socket-rights.ts';
import type { ListName } from '../domain/mcp-subscriptions.ts';
import type { Stream } from './event-stream.ts';
import type { StreamRights } from './stream-rights.ts';

const RESOURCE_UPDATED = 'notifications/resources/updated';
const LIST_QUIET_MS = 1000;
/** The others are not even judged. */
const RESOURCE_EVENTS: ReadonlySet<string> = new Set(['brain:change', 'brain:deleted', 'brain:renamed']);

export class StreamMember implements EventMember {
  readonly stream: Stream;
  readonly credential: StreamRights['credential'];
  rights: SocketRights;
  readonly #tellsResources: boolean;
  /** What every notification of this stream carries. */
  readonly #shared: object;
  readonly #bye: object | undefined;
  /** Lists that were told of just now; true = they have changed again. */
  readonly #quiet = new Map<ListName, boolean>();
  #wanted = new WantedResources([]);

  constructor(
    stream: Stream,
    { credential, rights }: StreamRights,
    lists: readonly ListName[],
    shared: object,
    bye?: object,
  ) {
    this.stream = stream;
    this.credential = credential;
    this.rights = rights;
    this.#tellsResources = lists.includes('resources');
    this.#shared = shared;
    this.#bye = bye;
  }

  want(uris: readonly string[]): void {
    this.#wanted = new WantedResources(uris);
  }

  /** At most once in a while: whoever hears it reads the whole list. */
  tellList(list: ListName): void {
    if (this.#quiet.has(list)) return void this.#quiet.set(list, true);
    this.#note(list, `notifications/${list}/list_changed`);
    this.#quiet.set(list, false);
    setTimeout(() => {
      const hasChangedSince = this.#quiet.get(list) === true;
      this.#quiet.delete(list);
      if (hasChangedSince) this.tellList(list);
    }, LIST_QUIET_MS).unref();
  }

  hear(_service: string, events: readonly JudgedEvent[]): void {
    if (!this.rights.mayRead) return;
    for (const { event, policies } of events) {
      if (!RESOURCE_EVENTS.has(event.name)) continue;
      const payload = visiblePayload(event, this.rights.listener, policies);
      if (payload === null) continue;
      for (const change of resourceChangesOf(event, payload)) {
        if (change.isListed && this.#tellsResources) this.tellList('resources');
        for (const uri of this.#wanted.touchedBy(change)) this.#note(`resource ${uri}`, RESOURCE_UPDATED, { uri });
      }
    }
  }

  #note(key: string, method: string, params: object = {}): void {
    const all = { ...params, ...this.#shared };
    this.stream.note(key, { jsonrpc: '2.0', method, ...(Object.keys(all).length === 0 ? {} : { params: all }) });
  }

  grant(rights: SocketRights): void {
    this.rights = rights;
  }

  expel(): void {
    this.stream.end();
  }

  leave(): void {
    this.stream.end(this.#bye);
  }
}
