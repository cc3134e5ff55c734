/** Rows of the access matrix: what stays for a while. Everybody has the workspace of its own, and nothing of another is there. */
import type { Fields } from '../client.ts';
import { type AccessRule, everybody, none, operators, writers } from './access-rule.ts';
import type { TemporarySpace } from './tenants.ts';

const named = (_tenant: unknown, fresh: string) => ({ name: fresh });
const file = (_tenant: unknown, fresh: string) => ({ name: fresh, content: 'x' });

const ABSENT = 'E_TMP_ABSENT';
/** Of a file that the admin has put there; who it is not for is answered like somebody who asks for none. */
function laidDown(space: TemporarySpace, more: Fields = {}): AccessRule {
  return {
    args: async (tenant) => ({ ...more, name: await tenant.laidDown(space) }),
    viewer: space === 'myStuff' ? ABSENT : 'served',
    admin: 'served',
    stranger: ABSENT,
    unknown: (fresh) => ({ ...more, name: fresh }),
  };
}

export const TEMPORARY: Record<string, AccessRule> = {
  svc_tmp_cacheGet: everybody(() => ({ key: 'k' })),
  svc_tmp_cacheSet: everybody((_tenant, fresh) => ({ key: fresh, value: 1 })),
  svc_tmp_cacheClear: writers(none),
  svc_tmp_dropboxPut: everybody(file),
  svc_tmp_dropboxGet: laidDown('dropbox'),
  svc_tmp_dropboxDelete: everybody(named),
  svc_tmp_dropboxList: everybody(),
  svc_tmp_dropboxClear: everybody(),
  svc_tmp_myStuffPut: everybody(file),
  svc_tmp_myStuffGet: laidDown('myStuff'),
  svc_tmp_myStuffDelete: everybody(named),
  svc_tmp_myStuffList: everybody(),
  svc_tmp_yourStuffPut: everybody(file),
  svc_tmp_yourStuffGet: laidDown('yourStuff'),
  svc_tmp_yourStuffDelete: everybody(named),
  svc_tmp_yourStuffList: everybody(),
  svc_tmp_put: everybody((_tenant, fresh) => ({ space: 'dropbox', name: fresh, content: 'x' })),
  svc_tmp_get: laidDown('dropbox', { space: 'dropbox' }),
  svc_tmp_list: everybody(),
  svc_brain_backup: operators(none),
  svc_brain_backups: operators(none),
  svc_brain_restore: operators(() => ({ path: 'nothing' })),
  svc_brain_drop_file: everybody(file),
  svc_brain_get_file: laidDown('dropbox'),
  svc_brain_list_files: everybody(),
  svc_brain_delete_file: everybody(named),
  svc_brain_clear_dropbox: everybody(),
  svc_brain_my_list: everybody(),
  svc_brain_my_get: laidDown('myStuff'),
  svc_brain_my_drop: everybody(file),
  svc_brain_your_stuff: everybody(),
  svc_brain_stash: everybody(() => ({ data: { a: 1 } })),
  svc_brain_clear: everybody(),
  svc_brain_handlers: everybody(),
  svc_brain_clear_handlers: everybody(),
};
