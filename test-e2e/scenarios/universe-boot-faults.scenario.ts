/** What sessions, layers and connectors say when parts of the deployment are gone, or others refuse it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { HttpsGitRemote } from '../instruments/https-git-remote.ts';
import { createMembers, memberAt } from '../instruments/members.ts';
import { waitFor } from '../instruments/wait-for.ts';
import { breakable, logsOf } from '../targets/target.ts';
import { EACH_APART, ownTarget, verifies } from '../verifies.ts';

const WRONG_TOKEN = 'wrong-token-of-the-remote-host-1234567890';
/** What each process found of the layers it may show for a second, and looking takes half of one. */
const SHOWN_FOR_MS = 1500;
let settings: Record<string, string> = {};
const isLayerDown = (error: unknown): boolean => String(error).includes('E_LAYER_DOWN');

const target = ownTarget(
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'remote-host-'));
    const host = await HttpsGitRemote.start(folder, 'right-token-of-the-remote-host');
    const authority = join(folder, 'authority.pem');
    writeFileSync(authority, host.certificate);
    settings = {
      SVC_HOST_URL: host.url,
      HOST_REPO: 'owner/repo',
      HOST_TOKEN: WRONG_TOKEN,
      SVC_SYNC_CA_FILE: authority,
    };
    return {
      environment: settings,
      async dispose() {
        await host.stop();
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
  { apart: EACH_APART },
);

verifies(
  'connectors:wrong-token',
  async ({ place, caller, socket }) => {
    const operator = caller();
    const ears = await socket();
    const service = 'remote-host';
    const refused = await operator.refused('E_AUTH', 'svc_connector_connect', { service });
    expect(refused).toMatchObject({ connected: false, service });
    await ears.until('a refused contact', ({ name, code }) => name === 'connector:checked' && code === 'E_AUTH');
    const { connectors } = await operator.ok('svc_connector_list');
    expect(connectors).toContainEqual(
      expect.objectContaining({ service, configured: true, missing: [], state: 'down' }),
    );
    const layers = () => operator.ok<{ layers: { name: string; state: string }[] }>('svc_boot_layers');
    // A machine that is busy answers later than a layer may.
    const isSyncUp = async () => (await layers()).layers.some(({ name, state }) => name === 'sync' && state === 'up');
    await waitFor(isSyncUp, { what: 'the layer of remotes' });
    expect(JSON.stringify([refused, connectors, await layers(), ears.heard])).not.toContain(WRONG_TOKEN);
    expect(logsOf(place)).not.toContain(WRONG_TOKEN);
  },
  { on: target },
);

verifies(
  'boot:restart',
  async ({ place }) => {
    const { caller: ann } = memberAt(await createMembers(place, 'viewer'), 0);
    // A machine that is busy answers later than a layer may.
    const hasBegun = async () => Boolean(await ann.ok('svc_boot_init'));
    await waitFor(hasBegun, { what: 'every layer to answer', ignoreErrors: isLayerDown });
    expect(await ann.ok('svc_boot_status')).toMatchObject({ initialized: true });
    await Promise.all(
      target
        .get()
        .of('universe')
        .map((one) => one.kill()),
    );
    await target.get().revive(settings);
    expect(await ann.ok('svc_boot_status')).toMatchObject({ initialized: false, taskId: null });
    const { layers } = await ann.ok('svc_boot_layers');
    expect(layers).toContainEqual(expect.objectContaining({ name: 'sandbox', state: 'off' }));
  },
  { on: target },
);

verifies(
  'boot:store-down',
  async ({ caller }) => {
    const operator = caller();
    await operator.ok('svc_boot_status');
    const postgres = breakable(target.get(), 'postgres');
    await postgres.kill();
    const status = () => operator.ok<{ ready: boolean; error: string | null }>('svc_boot_status');
    const killedAt = performance.now();
    const isTold = async () => {
      const { ready, error } = await status();
      return !ready && error?.includes('store') === true && performance.now() - killedAt > SHOWN_FOR_MS;
    };
    await waitFor(isTold, { what: 'a deployment that says that its store is down' });
    expect(await status()).toMatchObject({ initialized: false, ready: false });
    const { layers } = await operator.ok('svc_boot_layers');
    expect(layers).toContainEqual(expect.objectContaining({ name: 'store', state: 'down' }));
    expect(await operator.refused('E_LAYER_DOWN', 'svc_boot_init')).toMatchObject({ success: false });
    await postgres.start();
    await waitFor(async () => (await status()).ready, { what: 'a deployment that says that it is ready' });
  },
  { on: target, only: 'cluster' },
);
