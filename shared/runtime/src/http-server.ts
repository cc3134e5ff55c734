/**
 * The HTTP server of Node. An import of `node:http` reads everything that it exports, for which Node loads its whole `fetch`:
 * a twentieth of the time of a start.
 */
export const { createServer } = process.getBuiltinModule('node:http');
