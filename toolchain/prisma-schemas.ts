/** Which services keep a database, found by their `prisma/schema.prisma`. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface ServiceSchema {
  readonly service: string;
  readonly schema: string;
  readonly migrations: string;
}

export function schemasOfServices(root: string): ServiceSchema[] {
  return readdirSync(join(root, 'services'))
    .sort()
    .map((service) => ({
      service,
      schema: join(root, 'services', service, 'prisma', 'schema.prisma'),
      migrations: join(root, 'services', service, 'prisma', 'migrations'),
    }))
    .filter(({ schema }) => existsSync(schema));
}
