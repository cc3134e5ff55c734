/**
 * The services beside the gateway, in the order in which they start: those that most others ask come first.
 * Nothing is imported before a service runs: a process loads the code of its own role alone, and scripts read the list
 * without any installed package.
 */
import type { Tool } from '@svc/contract/tool.ts';
import type { Platform } from '@svc/runtime/platform.ts';
import type { RunningService, ServiceDefinition, ServicePlace } from '@svc/runtime/service.ts';

interface ServiceEntry<Deps> {
  /** Also that of its PostgreSQL schema and of its logins. */
  readonly name: string;
  readonly load: () => Promise<ServiceDefinition<Deps>>;
  /** It keeps files in the data directory, which its processes share. */
  readonly keepsFiles?: boolean;
  /** Patterns of keys in Redis beside those that begin with its name. */
  readonly redisKeys?: readonly string[];
  /** Subjects on NATS beside those that every service has. */
  readonly subjects?: Partial<OwnSubjects>;
}

export interface OwnSubjects {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

export interface CataloguedService {
  readonly name: string;
  readonly keepsFiles: boolean;
  readonly redisKeys: readonly string[];
  readonly subjects: OwnSubjects;
  /** Its code; starting it loads it too. */
  load(): Promise<unknown>;
  tools(): Promise<readonly Tool<never>[]>;
  start(platform: Platform, place?: ServicePlace): Promise<RunningService<unknown>>;
}

export function service<Deps>({
  name,
  load,
  keepsFiles = false,
  redisKeys = [],
  subjects,
}: ServiceEntry<Deps>): CataloguedService {
  return {
    name,
    keepsFiles,
    redisKeys,
    subjects: { publish: [], subscribe: [], ...subjects },
    load,
    tools: async () => (await load()).tools,
    async start(platform, place) {
      const { startService } = await import('@svc/runtime/service.ts');
      return startService(platform, await load(), place);
    },
  };
}

export const SERVICES: readonly CataloguedService[] = [
  service({
    name: 'habitat',
    load: async () => (await import('@svc/habitat/service.ts')).habitatService,
    subjects: { publish: ['habitat.ended'], subscribe: ['habitat.tokens-used'] },
  }),
  service({
    name: 'escrow',
    load: async () => (await import('@svc/escrow/service.ts')).escrowService,
    redisKeys: ['svc:qos:*'],
  }),
  service({
    name: 'brain',
    keepsFiles: true,
    load: async () => (await import('@svc/brain/service.ts')).brainService,
    subjects: { publish: ['brain.process.*'], subscribe: ['brain.process.*'] },
  }),
  service({
    name: 'market',
    load: async () => (await import('@svc/market/service.ts')).marketService,
  }),
  service({
    name: 'agora',
    load: async () => (await import('@svc/agora/service.ts')).agoraService,
    subjects: {
      publish: ['svc.x.*.agora', 'svc.x.presence', 'events.after.*', 'to.*.*.events.after.*'],
      subscribe: ['svc.x.*.agora', 'svc.x.presence', 'event.*', 'directory.announce'],
    },
  }),
  service({
    name: 'universe',
    load: async () => (await import('@svc/universe/service.ts')).universeService,
    subjects: { publish: ['directory.checks.*'] },
  }),
];

export const SERVICE_NAMES: readonly string[] = SERVICES.map(({ name }) => name);

/** What a process of a cluster can be. */
export const ROLES: readonly string[] = ['gateway', ...SERVICE_NAMES];
