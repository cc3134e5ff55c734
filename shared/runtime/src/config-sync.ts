/** Variables of the remotes that brains sync with. */
import { z } from 'zod';
import { bearer, count, onOff, text } from './config-values.ts';
import { alike, secret, variable } from './config-variable.ts';

/** Of the host that the default brain syncs with. */
export const HOST_VARIABLES = {
  HOST_REPO: alike(
    'brain',
    variable(
      text.regex(/^[A-Za-z0-9._-]+\/[A-Za-z0-9._-]+$/, 'must look like owner/repo').optional(),
      'none',
      'Repository at the remote host that the default brain syncs with.',
    ),
  ),
  HOST_TOKEN: alike('brain', secret(bearer.optional(), 'Token for the remote host.')),
  SVC_HOST_URL: variable(
    z.url({ protocol: /^https$/ }).default('https://github.com'),
    'https://github.com',
    'Remote host of HOST_REPO.',
  ),
} as const;

export const SYNC_VARIABLES = {
  SVC_SYNC_REMOTES: alike(
    'brain',
    variable(text.optional(), 'none', 'Remotes as name=url pairs separated by commas; `origin` is the default one.'),
  ),
  SVC_SYNC_ALLOW_FILE: variable(onOff.default(false), 'off', 'Allow file:// remotes.'),
  SVC_SYNC_CA_FILE: variable(
    text.optional(),
    'none',
    'Certificates (PEM) to trust for https remotes besides the system ones.',
  ),
  SVC_SYNC_SILENCE_MS: variable(
    count(1500, 60_000).default(15_000),
    '15000',
    'How long a remote may say nothing before a sync gives it up.',
  ),
  SVC_SYNC_TRANSFER_MS: variable(
    count(1000, 86_400_000).default(1_800_000),
    '1800000',
    'How long one transfer with a remote may take that shows signs of life.',
  ),
  SVC_SYNC_TRANSFERS: variable(
    count(1, 64).default(8),
    '8',
    'Transfers that a process has at once; one remote gets half of them.',
  ),
} as const;
