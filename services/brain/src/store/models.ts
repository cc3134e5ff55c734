/** The Prisma client, for reads that are not on a hot path; it is loaded when first asked for, not at start. */
import type { Database } from '@svc/runtime/database.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';

export interface Models {
  client(): Promise<PrismaClient>;
  close(): Promise<void>;
}

export function createModels(database: Pick<Database, 'adapter'>, schema: string): Models {
  let loading: Promise<PrismaClient> | null = null;

  async function load(): Promise<PrismaClient> {
    const generated = await import('../generated/prisma/client.ts');
    return new generated.PrismaClient({ adapter: database.adapter(schema) });
  }

  return {
    client: () => (loading ??= load()),
    async close() {
      if (loading !== null) await (await loading).$disconnect();
    },
  };
}
