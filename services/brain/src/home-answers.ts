/** Where brains, files and islands are at home, for whoever judges who may set their boundaries. */
import type { Subscription } from '@svc/runtime/bus.ts';
import type { SqlClient } from '@svc/runtime/database.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import { z } from 'zod';
import { fileOf } from './domain/island/island.ts';
import { islandKey } from './domain/resource-keys.ts';
import { type HomesOfResource, readHomesOf, readIslandHome } from './store/file-homes.ts';

const SUBJECT = 'brain.home';
const BRAIN = 'brain:';
const ISLAND = islandKey('');
const Ask = z.strictObject({ resource: z.string().max(640) });

/** Request `{resource}`, reply `{own, brain}`; `{}` when it cannot be told. */
export function answerForHomes(client: SqlClient, { bus, log }: Pick<Platform, 'bus' | 'log'>): Promise<Subscription> {
  return bus.respond(
    SUBJECT,
    async (payload) => {
      try {
        return JSON.stringify(await homesOf(client, Ask.parse(JSON.parse(payload)).resource));
      } catch (error) {
        log.warn({ err: error }, 'the home of a resource cannot be told');
        return JSON.stringify({});
      }
    },
    { queue: 'brain' },
  );
}

function homesOf(client: SqlClient, resource: string): Promise<HomesOfResource> {
  if (resource.startsWith(ISLAND)) {
    const name = resource.slice(ISLAND.length);
    return readIslandHome(client, [fileOf(name, 'text'), fileOf(name, 'data')]);
  }
  const [brain = '', ...path] = resource.slice(BRAIN.length).split('/');
  return readHomesOf(client, brain, path.length === 0 ? null : path.join('/'));
}
