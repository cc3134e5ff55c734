/** Settings of what runs programs of callers. */
import { z } from 'zod';

const ProgramName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/, 'must be the name of a program, without a path');

const PROGRAMS: string[] = 'echo cat ls head tail wc sort uniq cut tr grep date sha256sum true false'.split(' ');

const common = { service: 'universe', mayChange: 'operator', whenUnknown: 'fallback' } as const;

export const SHELL_SETTINGS = {
  'shell.allow': {
    ...common,
    schema: z.array(ProgramName).max(200),
    fallback: PROGRAMS,
    meaning: 'Programs that callers may run in the sandbox, without paths.',
    variable: null,
  },
  'shell.enabled': {
    ...common,
    schema: z.boolean(),
    fallback: false,
    meaning: 'Programs are run for callers, while the probe of bubblewrap finds no way out.',
    variable: 'SVC_SHELL_ENABLED',
  },
} as const;
