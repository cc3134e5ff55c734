/** Variables that say who a deployment is to others, and whom of them it trusts. */
import { IdentityId } from '@svc/contract/names.ts';
import { z } from 'zod';
import { count } from './config-values.ts';
import { alike, secret, variable } from './config-variable.ts';
import { nodeKey, nodeName, nodePeers, nodeSecret } from '@svc/contract/node-settings.ts';

export const NODE_VARIABLES = {
  SVC_NODE_NAME: variable(
    nodeName.optional(),
    'none',
    'Name of this deployment among those that vote together; on a shared NATS its subjects carry it. All processes need the same.',
  ),
  SVC_NODE_PORT: variable(count(1, 65_535).optional(), 'none', 'Port that this deployment tells other ones.'),
  SVC_NODE_SECRET: alike(
    'agora',
    secret(
      nodeSecret.optional(),
      'Secret of the deployments that vote together, 16 characters or more; whoever has it can speak as any of them.',
    ),
  ),
  SVC_NODE_SECRET_PREVIOUS: alike(
    'agora',
    secret(
      nodeSecret.optional(),
      'A second secret, accepted and never used, while one takes the place of the other on all deployments.',
    ),
    'SVC_NODE_SECRET',
  ),
  SVC_NODE_AGENT_ID: alike(
    'agora',
    variable(IdentityId.optional(), 'none', 'Agent in whose name this deployment votes on topics of others.'),
  ),
  SVC_NODE_KEY: alike(
    'agora',
    secret(
      nodeKey.optional(),
      'Seed of an Ed25519 key (32 bytes in base64url) that signs instead of the secret; then only deployments with a publicKey in SVC_NODE_PEERS are known.',
    ),
  ),
  SVC_NODE_PEERS: alike(
    'agora',
    secret(
      nodePeers.optional(),
      'Other deployments, a JSON list of {"name", "agentId"?, "publicKey"?, "secret"?}; with a publicKey nothing else is accepted from that one.',
    ),
  ),
  SVC_NODE_BUS_URL: alike(
    'agora',
    secret(
      z.url({ protocol: /^(nats|tls)$/ }).optional(),
      'NATS on which deployments meet, when it is another one than NATS_URL, or for one that runs in a single process.',
    ),
  ),
} as const;
