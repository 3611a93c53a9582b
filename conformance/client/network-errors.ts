/** Which errors of a request are caused by the server or the network, and not by the kit. */

/** There is no response because of the server or the network. */
export class NoExchange extends Error {
  override readonly name: string = 'NoExchange';
}

/**
 * The codes of errors of the server, of the network, and of TLS, as Node documents them. Any other error is one of the
 * kit or of this machine, such as EMFILE.
 */
const networkCodes = new RegExp(
  '^(ECONN(RESET|REFUSED|ABORTED)|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_.*|E(HOST|NET)(UNREACH|DOWN)|ENETRESET|EADDRNOTAVAIL' +
    '|EACCES|EPERM|EPROTO|HPE_.*|ERR_(SSL|TLS|SOCKET)_.*|ERR_STREAM_(DESTROYED|PREMATURE_CLOSE)|.*CERT.*|.*CRL.*' +
    '|INVALID_(CA|PURPOSE)|HOSTNAME_MISMATCH|UNABLE_TO_.*|PATH_LENGTH_EXCEEDED)$',
);

/** Whether the server or the network is the reason for an error of `exchangeHttp`, and not the kit. */
export function isOfNetwork(error: unknown): error is Error {
  return error instanceof NoExchange || networkCodes.test((error as NodeJS.ErrnoException).code ?? '');
}
