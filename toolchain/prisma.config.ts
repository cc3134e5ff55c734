/** Settings of the Prisma CLI for every service; the schema is named on the command line. */
import { defineConfig } from 'prisma/config';

// `generate` insists that a schema engine exists but never runs it, and downloading one needs a network.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath;
process.env.CHECKPOINT_DISABLE ??= '1';

export default defineConfig({});
