"""The certificates of a cluster: a private authority, and one certificate for each member.

Dask does not compare host names: each side accepts any certificate of this authority, and no other.
"""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pi_appliance.cluster.client import MemberFolder
from pi_appliance.errors import Refused

if TYPE_CHECKING:
    from cryptography import x509

_YEARS = timedelta(days=3650)
_MAX_CLOCK_ERROR = timedelta(days=2)  # valid earlier by this time: a Pi without a battery may start with an old clock
_MAX_NAME = 64  # characters: the limit of X.509


def create_authority(folder: MemberFolder, host: str) -> None:
    """Create the authority of a new cluster, and the certificate of this machine."""
    from cryptography import x509  # noqa: PLC0415 - optional

    key = _new_key()
    name = _name(f"pi-appliance cluster of {host}")
    own_id = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    usage = _usage(signs_certificates=True)
    certificate = (
        _builder(name, name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(own_id, critical=False)
        .sign(key, _hash())
    )
    folder.write(folder.authority_key, _key_to_pem(key))
    folder.write(folder.authority, _to_pem(certificate))
    request = create_request(folder, host)
    folder.write(folder.certificate, sign_request(folder, request).encode())


def create_request(folder: MemberFolder, host: str) -> str:
    """Create the key of this machine, and return its request for a certificate as PEM."""
    from cryptography import x509  # noqa: PLC0415 - optional

    key = _new_key()
    folder.write(folder.key, _key_to_pem(key))
    return _to_pem(x509.CertificateSigningRequestBuilder().subject_name(_name(host)).sign(key, _hash())).decode()


def sign_request(folder: MemberFolder, request: str) -> str:
    """Return the certificate for a request, as PEM. Raises Refused if it is not a valid request."""
    from cryptography import x509  # noqa: PLC0415 - optional
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415 - optional

    try:
        asked = x509.load_pem_x509_csr(request.encode())
    except ValueError:
        raise Refused("that is not a request for a certificate") from None
    if not asked.is_signature_valid:
        raise Refused("the request for a certificate is not signed by its own key")
    authority = x509.load_pem_x509_certificate(folder.authority.read_bytes())
    key: Any = load_pem_private_key(folder.authority_key.read_bytes(), None)
    authority_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    roles = [x509.oid.ExtendedKeyUsageOID.SERVER_AUTH, x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]
    certificate = (
        _builder(asked.subject, authority.subject, asked.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(roles), critical=False)
        .add_extension(authority_id, critical=False)
        .sign(key, _hash())
    )
    return _to_pem(certificate).decode()


def _new_key() -> Any:
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - optional

    return ec.generate_private_key(ec.SECP256R1())


def _hash() -> Any:
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415 - optional

    return SHA256()


def _name(text: str) -> "x509.Name":
    from cryptography import x509  # noqa: PLC0415 - optional

    return x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, text[:_MAX_NAME])])


def _builder(subject: "x509.Name", issuer: "x509.Name", public_key: Any) -> "x509.CertificateBuilder":
    from cryptography import x509  # noqa: PLC0415 - optional

    now = datetime.now(UTC)
    return x509.CertificateBuilder(
        issuer_name=issuer,
        subject_name=subject,
        public_key=public_key,
        serial_number=x509.random_serial_number(),
        not_valid_before=now - _MAX_CLOCK_ERROR,
        not_valid_after=now + _YEARS,
    )


def _usage(*, signs_certificates: bool) -> "x509.KeyUsage":
    from cryptography import x509  # noqa: PLC0415 - optional

    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _to_pem(signed: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415 - optional

    content: bytes = signed.public_bytes(Encoding.PEM)
    return content


def _key_to_pem(key: Any) -> bytes:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - optional

    encoding, kind = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    content: bytes = key.private_bytes(encoding, kind, serialization.NoEncryption())
    return content
