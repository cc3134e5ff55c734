/** What the node is, and how it is. */
import type { Client, Result } from '@svc/client/client.ts';
import type { CommandDeclaration } from '../command.ts';
import { duration } from '../moments.ts';
import { showObject } from '../output.ts';
import { factsText } from '../result-text.ts';
import { table } from '../table.ts';
import type { Terminal } from '../terminal.ts';
import { oneLine } from '../visible.ts';

export const statusCommand: CommandDeclaration = {
  name: 'status',
  summary: 'Shows the node, its services, its brains and what is wrong with them.',
  examples: ['svc status', 'svc status --json | jq .ready'],
  async run({ client, terminal, signal }) {
    const [{ status }, health, { nodes }] = await Promise.all([
      client.call('svc_framework_status', {}, { signal }),
      client.call('svc_health', {}, { signal }),
      client.call('nodes_list', {}, { signal }),
    ]);
    const { brains, problems, queue, index } = health;
    const state = { ...status, url: client.url, nodes, brains, problems, queue, index };
    showObject(terminal, state, () => statusText(terminal, client, status, health, nodes));
  },
};

type Status = Result<'svc_framework_status'>['status'];
type Health = Result<'svc_health'>;
type Nodes = Result<'nodes_list'>['nodes'];

function statusText(terminal: Terminal, client: Client, status: Status, health: Health, nodes: Nodes): string {
  const dot = status.ready ? terminal.paint('green', '●') : terminal.paint('yellow', '●');
  const state = terminal.paint('bold', status.ready ? 'ready' : 'not ready, see svc doctor');
  const blocks = [
    `${dot} ${state}  ${terminal.paint('cyan', client.url)}`,
    factsText(terminal, [
      ['version', `${status.version}, ${status.platform}`],
      ['up', duration(status.uptime * 1000)],
      ['tools', status.tools],
      ['callers', status.keyed ? 'with the key or a token' : 'anybody on this machine (no SVC_API_KEY)'],
      [
        'waiting',
        health.queue.depth === 0 ? 'nothing' : `${health.queue.depth}, the oldest ${duration(health.queue.oldestMs)}`,
      ],
    ]),
    servicesText(terminal, status),
    nodes.length > 1 ? nodesText(terminal, nodes) : '',
    brainsText(terminal, health),
    problemsText(terminal, health),
  ];
  return blocks.filter((block) => block !== '').join('\n\n');
}

function servicesText(terminal: Terminal, { services }: Status): string {
  return table(
    terminal,
    [
      { title: 'SERVICE', value: ({ name }) => name, paint: () => 'cyan' },
      {
        title: 'STATE',
        value: ({ ready }) => (ready ? 'ready' : 'not ready'),
        paint: ({ ready }) => (ready ? 'green' : 'yellow'),
      },
      { title: 'TOOLS', value: ({ tools }) => String(tools), isNumber: true },
      { title: 'PROCESSES', value: ({ instances }) => String(instances), isNumber: true },
    ],
    services,
  );
}

function nodesText(terminal: Terminal, nodes: Nodes): string {
  return table(
    terminal,
    [
      { title: 'PROCESS', value: ({ name }) => name, paint: () => 'cyan' },
      { title: 'SERVES', value: ({ service }) => service },
      {
        title: 'STATE',
        value: ({ status }) => status,
        paint: ({ status }) => (status === 'alive' ? 'green' : 'yellow'),
      },
      { title: 'VERSION', value: ({ version }) => version },
      { title: 'UP', value: ({ startedAt, lastSeenAt }) => duration(lastSeenAt - startedAt), paint: () => 'dim' },
    ],
    nodes,
  );
}

function brainsText(terminal: Terminal, { brains }: Health): string {
  return table(
    terminal,
    [
      { title: 'BRAIN', value: ({ name }) => name, paint: () => 'cyan' },
      { title: 'FILES', value: ({ files }) => String(files), isNumber: true },
      { title: 'BRANCHES', value: ({ branches }) => String(branches), isNumber: true },
      { title: 'UNCOMMITTED', value: ({ dirty }) => (dirty > 0 ? String(dirty) : ''), isNumber: true },
      {
        title: 'CONFLICTS',
        value: ({ openConflicts }) => (openConflicts > 0 ? String(openConflicts) : ''),
        paint: () => 'yellow',
      },
      { title: 'PROBLEMS', value: ({ problems }) => problems.map(({ text }) => text).join('; '), paint: () => 'red' },
    ],
    brains,
  );
}

function problemsText(terminal: Terminal, { problems }: Health): string {
  return problems
    .map(({ code, text }) => `${terminal.paint('yellow', '!')} ${oneLine(text)} ${terminal.paint('dim', `(${code})`)}`)
    .join('\n');
}
