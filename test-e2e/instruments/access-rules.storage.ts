/** Rows of the access matrix: a branch as an area of files, core notes, skill prototypes. */
import { type AccessRule, everybody, gatedWriters, members, writers } from './access-rule.ts';
import type { Tenant } from './tenants.ts';

const file = ({ team }: Tenant) => ({ path: `${team}/file.md` });
const absentFile = (fresh: string) => ({ path: `${fresh}/file.md` });

function absent(args: AccessRule['args']): AccessRule {
  return { args, viewer: 'E_FILE_ABSENT', admin: 'E_FILE_ABSENT', stranger: 'E_FILE_ABSENT' };
}

export const STORAGE: Record<string, AccessRule> = {
  svc_storage_cp: {
    ...gatedWriters(({ team }, fresh) => ({ src: `${team}/file.md`, dest: `${team}/${fresh}.md` })),
    // What it may not read is not there, before anybody asks where it shall go.
    strangeAdmin: 'E_FILE_ABSENT',
  },
  svc_storage_exists: everybody(file),
  svc_storage_list: everybody(() => ({ dir: '' })),
  svc_storage_listRecursive: everybody(() => ({ dir: '' })),
  svc_storage_mkdir: gatedWriters(({ team }, fresh) => ({ dir: `${team}/${fresh}` })),
  svc_storage_read: members(file, 'E_FILE_ABSENT', absentFile),
  svc_storage_rm: gatedWriters(({ team }, fresh) => ({ path: `${team}/${fresh}.md` })),
  svc_storage_write: gatedWriters((tenant) => ({ ...file(tenant), content: 'x' })),
  // They begin with a picture, and there is none.
  svc_stego_encode: {
    ...writers(({ team }, fresh) => ({
      image: `${team}/${fresh}.png`,
      message: 'x',
      output: `${team}/${fresh}-x.png`,
    })),
    admin: 'E_FILE_ABSENT',
    strangeAdmin: 'E_FILE_ABSENT',
  },
  svc_stego_decode: absent(({ team }, fresh) => ({ image: `${team}/${fresh}.png` })),
  svc_brain_my_stuff: everybody(),
  svc_brain_update_my_stuff: writers(() => ({ key: 'lessons', content: 'x' })),
  skill_proto_list: everybody(),
  skill_proto_load: everybody(({ team }) => ({ name: team })),
};
