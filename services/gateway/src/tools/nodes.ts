/** What runs: the nodes of the cluster and the state of the whole. */
import { TimestampMs } from '@svc/contract/params.ts';
import { z } from 'zod';
import { REVISIONS } from '../domain/mcp-wire.ts';
import { defineTool, type GatewayDeps } from '../deps.ts';
import type { Instance } from '../service-directory.ts';

const Node = z.object({
  id: z.string(),
  name: z.string(),
  service: z.string().describe('Service, or several separated by commas when one process runs them.'),
  status: z.enum(['alive', 'stale']),
  version: z.string(),
  startedAt: TimestampMs,
  lastSeenAt: TimestampMs,
  host: z.string().optional(),
  port: z.number().optional(),
});

const nodesList = defineTool({
  name: 'nodes_list',
  area: 'nodes',
  description: 'Lists the processes that serve, and whether they were heard of lately.',
  input: z.strictObject({}),
  output: z.object({ nodes: z.array(Node), self: z.string() }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  async handler(_input, { deps, caller }) {
    const processes = Map.groupBy(deps.directory.instances(), ({ instance }) => instance);
    const nodes = [...processes.values()].map((parts) => nodeOf(parts, deps, caller.operator));
    return { nodes, self: deps.platform.node.instance };
  },
});

function nodeOf(parts: readonly Instance[], { directory }: GatewayDeps, operator: boolean): z.output<typeof Node> {
  const [first] = parts;
  if (first === undefined) throw new Error('a process without a service');
  const host = parts.find((part) => part.host !== undefined)?.host;
  const port = parts.find((part) => part.port !== undefined)?.port;
  return {
    id: first.instance,
    name: first.nodeId,
    service: parts.map(({ service }) => service).join(','),
    status: parts.some(directory.isAlive) ? 'alive' : 'stale',
    version: first.version,
    startedAt: first.startedAt,
    lastSeenAt: Math.max(...parts.map(({ lastSeenAt }) => lastSeenAt)),
    ...(operator && host !== undefined ? { host } : {}),
    ...(operator && port !== undefined ? { port } : {}),
  };
}

const frameworkStatus = defineTool({
  name: 'svc_framework_status',
  area: 'nodes',
  description: 'Tells version, mode, readiness, services and durability of this installation.',
  input: z.strictObject({}),
  output: z.object({
    status: z.object({
      name: z.string(),
      version: z.string(),
      mode: z.enum(['cli', 'mcp', 'headless']),
      platform: z.enum(['embedded', 'cluster']),
      uptime: z.number().describe('Seconds.'),
      ready: z.boolean(),
      tools: z.int(),
      services: z.array(z.object({ name: z.string(), ready: z.boolean(), tools: z.int(), instances: z.int() })),
      mcp: z.array(z.string()).describe('Versions of the Model Context Protocol that are spoken.'),
      keyed: z.boolean(),
      requireKey: z.boolean(),
      durability: z.enum(['full', 'process-crash']),
    }),
  }),
  access: 'identified',
  effect: 'read',
  refuses: [],
  async handler(_input, { deps, caller }) {
    const { platform, directory } = deps;
    const { ready } = await deps.readiness.check();
    return {
      status: {
        name: 'brain-service',
        version: platform.node.version,
        mode: platform.config.SVC_MODE,
        platform: platform.kind,
        uptime: process.uptime(),
        ready,
        tools: directory.cards().length,
        services: directory.services().map((name) => serviceStatus(name, deps)),
        mcp: [...REVISIONS],
        keyed: deps.keyed,
        requireKey: await deps.requiresKey(caller.registry),
        durability: platform.durability,
      },
    };
  },
});

function serviceStatus(name: string, { directory }: GatewayDeps) {
  const instances = directory
    .instances()
    .filter((instance) => instance.service === name && directory.isAlive(instance));
  return {
    name,
    ready: instances.some(({ ready }) => ready),
    tools: directory.cards().filter(({ service }) => service === name).length,
    instances: instances.length,
  };
}

export const nodeTools = [nodesList, frameworkStatus];
