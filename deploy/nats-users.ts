/** deploy/nats/nats.conf: each service is allowed only the subjects that it serves, as the list of the services says. */
import { BETWEEN_DEPLOYMENTS, spaceOf } from '@svc/runtime/bus-subject.ts';
import { type CataloguedService, type OwnSubjects, SERVICES } from './services.ts';

const HEADER = `# NATS of the cluster, written by \`npm run gen\` from deploy/services.ts. Each service is allowed only the subjects it serves. It
# has two users with the same rights, so that one password takes the place of the other while processes with either run. Under
# \`op.<service>.<asker>.\` one service asks another, each in its own name alone; what it may ask for, the one that is asked
# knows (\`askers\` in shared/contract/src/operations.*.ts). A subject that is not allowed here is not refused, it times out; what
# may go to one process of a service is listed once more below \`to.*.*.\`. By \`alive.<service>\` processes say that they live.
# A deployment with a name (SVC_NODE_NAME) says all that below \`at.<name>.\`, so that two of them on one server never hear each
# other; only on \`svc.x.\` one deployment speaks to another.
listen: "0.0.0.0:4222"
http: "127.0.0.1:8222"
max_payload: 8388608
# A host that vanished is noticed within seconds.
ping_interval: "5s"
ping_max: 2
write_deadline: "2s"

# Defines <SERVICE>_PASSWORD and <SERVICE>_B_PASSWORD for each service below. The path is relative to this file: /run/secrets/nats_passwords.
include "../../run/secrets/nats_passwords"
`;

/** Every role says that it lives, is found, answers others and asks them, each in its own name. */
function subjectsOf(role: string, own: OwnSubjects): OwnSubjects {
  return {
    publish: [
      `alive.${role}`,
      `op.*.${role}.>`,
      `to.*.*.op.*.${role}.>`,
      'directory.announce',
      'directory.leave',
      ...own.publish,
    ],
    subscribe: [
      'alive.*',
      `to.${role}.>`,
      `tool.${role}.*`,
      'directory.who',
      `directory.cards.${role}`,
      `directory.checks.${role}`,
      `op.${role}.>`,
      `_INBOX_${role}.>`,
      ...own.subscribe,
    ],
  };
}

/** The doors call the tools of all, and hear from all. */
const GATEWAY: OwnSubjects = {
  publish: [
    'tool.>',
    'to.*.*.tool.>',
    'directory.cards.*',
    'to.*.*.directory.cards.*',
    'directory.checks.*',
    'directory.who',
    'events.after.*',
    'to.*.*.events.after.*',
    'habitat.tokens-used',
    'gateway.mcp-session',
  ],
  subscribe: ['directory.announce', 'directory.leave', 'event.*', 'habitat.ended', 'gateway.mcp-session'],
};

function ofService({ name, subjects }: CataloguedService): readonly [string, OwnSubjects] {
  const { publish, subscribe } = subjects;
  const own = { publish: [`event.${name}`, ...publish], subscribe: [`events.after.${name}`, ...subscribe] };
  return [name, subjectsOf(name, own)];
}

export function natsConfig(): string {
  const roles = [['gateway', subjectsOf('gateway', GATEWAY)] as const, ...SERVICES.map(ofService)];
  const users = roles.flatMap(([role]) => [userOf(role, role), userOf(`${role}_b`, role)]);
  return [
    HEADER,
    ...roles.map(([role, subjects]) => permissions(role, subjects)),
    `authorization {\n  users: [\n${users.join('\n')}\n  ]\n}\n`,
  ].join('\n');
}

/** Once as they are, and once as a named deployment says them within itself. */
function inAnySpace(subjects: readonly string[]): readonly string[] {
  const isShared = (subject: string): boolean =>
    subject.startsWith(BETWEEN_DEPLOYMENTS) || subject.startsWith('_INBOX_');
  return [...subjects, ...subjects.filter((subject) => !isShared(subject)).map((subject) => spaceOf('*') + subject)];
}

function permissions(role: string, { publish, subscribe }: OwnSubjects): string {
  const listed = (name: string, subjects: readonly string[]): string =>
    `  ${name}: [\n${inAnySpace(subjects)
      .map((subject) => `    "${subject}"`)
      .join('\n')}\n  ]\n`;
  const rights = listed('publish', publish) + listed('subscribe', subscribe);
  return `MAY_${role.toUpperCase()}: {\n${rights}  allow_responses: true\n}\n`;
}

function userOf(user: string, role: string): string {
  return `    { user: "${user}", password: $${user.toUpperCase()}_PASSWORD, permissions: $MAY_${role.toUpperCase()} }`;
}
