/** JSON echo on node:http and nothing else. */
import { serveBare } from './door.ts';

serveBare((body) => JSON.stringify(JSON.parse(body)));
