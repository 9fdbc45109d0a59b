/* What SRT takes of a library of ciphers (libcrypto, of which 4.5 MB would be linked). Here nothing is encrypted: no
 * connection has a passphrase (SRTO_PASSPHRASE), without which SRT makes no key. Each function refuses as the original
 * does, so a passphrase would be an error and never a connection in plain text. */
#include <stddef.h>
#include <stdlib.h>
#include <sys/random.h>

struct key;
typedef struct key AES_KEY;

int RAND_bytes(unsigned char *bytes, int count)
{
	return count >= 0 && getrandom(bytes, (size_t)count, 0) == count;
}

int AES_set_encrypt_key(const unsigned char *secret, int bits, AES_KEY *key)
{
	(void)secret, (void)bits, (void)key;
	return -1;
}

int AES_set_decrypt_key(const unsigned char *secret, int bits, AES_KEY *key)
{
	(void)secret, (void)bits, (void)key;
	return -1;
}

int AES_wrap_key(AES_KEY *key, const unsigned char *iv, unsigned char *out, const unsigned char *in, unsigned int length)
{
	(void)key, (void)iv, (void)out, (void)in, (void)length;
	return -1;
}

int AES_unwrap_key(AES_KEY *key, const unsigned char *iv, unsigned char *out, const unsigned char *in, unsigned int length)
{
	(void)key, (void)iv, (void)out, (void)in, (void)length;
	return -1;
}

int PKCS5_PBKDF2_HMAC_SHA1(const char *phrase, int phrase_length, const unsigned char *salt, int salt_length, int rounds,
			   int length, unsigned char *out)
{
	(void)phrase, (void)phrase_length, (void)salt, (void)salt_length, (void)rounds, (void)length, (void)out;
	return 0;
}

/* These cannot refuse, and nothing calls them without a key. */
void AES_encrypt(const unsigned char *in, unsigned char *out, const AES_KEY *key)
{
	(void)in, (void)out, (void)key;
	abort();
}

void CRYPTO_ctr128_encrypt(const unsigned char *in, unsigned char *out, size_t length, const void *key, unsigned char iv[16],
			   unsigned char counted[16], unsigned int *number, void (*block)(const unsigned char *, unsigned char *, const void *))
{
	(void)in, (void)out, (void)length, (void)key, (void)iv, (void)counted, (void)number, (void)block;
	abort();
}
