//! The check sums of blocks that fio wrote.

/// CRC-32C as fio has it: not inverted at the end.
pub(super) fn crc32c(data: &[u8]) -> u32 {
    static TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut number = 0;
        while number < 256 {
            let (mut value, mut bit) = (number as u32, 0);
            while bit < 8 {
                value = if value & 1 == 1 { value >> 1 ^ 0x82F6_3B78 } else { value >> 1 };
                bit += 1;
            }
            table[number] = value;
            number += 1;
        }
        table
    };
    data.iter().fold(!0, |crc, byte| TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize] ^ (crc >> 8))
}

/// CRC-32 as fio has it: that of POSIX's cksum, without the length, and not inverted at the end.
pub(super) fn crc32(data: &[u8]) -> u32 {
    static TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut number = 0;
        while number < 256 {
            let (mut value, mut bit) = ((number as u32) << 24, 0);
            while bit < 8 {
                value = if value >> 31 == 1 { value << 1 ^ 0x04C1_1DB7 } else { value << 1 };
                bit += 1;
            }
            table[number] = value;
            number += 1;
        }
        table
    };
    data.iter().fold(0, |crc, byte| TABLE[(crc >> 24 ^ u32::from(*byte)) as usize] ^ (crc << 8))
}

fn word(bytes: &[u8]) -> u32 {
    u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// XXH32 with a seed.
pub(super) fn xxh32(data: &[u8], seed: u32) -> u32 {
    const PRIMES: [u32; 5] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D, 0x27D4_EB2F, 0x1656_67B1];
    let [one, two, three, four, five] = PRIMES;
    let stripes = data.chunks_exact(16);
    let rest = stripes.remainder();
    let mut hash = if data.len() < 16 {
        seed.wrapping_add(five)
    } else {
        let mut lanes =
            [seed.wrapping_add(one).wrapping_add(two), seed.wrapping_add(two), seed, seed.wrapping_sub(one)];
        for stripe in stripes {
            for (lane, bytes) in lanes.iter_mut().zip(stripe.chunks_exact(4)) {
                *lane = lane.wrapping_add(word(bytes).wrapping_mul(two)).rotate_left(13).wrapping_mul(one);
            }
        }
        let turned = lanes.iter().zip([1, 7, 12, 18]).map(|(lane, by)| lane.rotate_left(by));
        turned.fold(0, u32::wrapping_add)
    };
    hash = hash.wrapping_add(data.len() as u32);
    let words = rest.chunks_exact(4);
    let bytes = words.remainder();
    for bytes in words {
        hash = hash.wrapping_add(word(bytes).wrapping_mul(three)).rotate_left(17).wrapping_mul(four);
    }
    for byte in bytes {
        hash = hash.wrapping_add(u32::from(*byte).wrapping_mul(five)).rotate_left(11).wrapping_mul(one);
    }
    hash = (hash ^ hash >> 15).wrapping_mul(two);
    hash = (hash ^ hash >> 13).wrapping_mul(three);
    hash ^ hash >> 16
}

/// Data in blocks of 64 bytes, the last with a one, zeros, and the length in bits.
fn padded(data: &[u8], length: [u8; 8]) -> impl Iterator<Item = [u8; 64]> {
    let blocks = (data.len() + 9).div_ceil(64);
    (0..blocks).map(move |number| {
        let mut block = [0; 64];
        let left = data.get(number * 64..).unwrap_or_default();
        let count = left.len().min(64);
        block[..count].copy_from_slice(&left[..count]);
        if count < 64 && number * 64 + count == data.len() && (count > 0 || data.len().is_multiple_of(64)) {
            block[count] = 0x80;
        }
        if number + 1 == blocks {
            block[56..].copy_from_slice(&length);
        }
        block
    })
}

/// MD5 (RFC 1321).
pub(super) fn md5(data: &[u8]) -> [u8; 16] {
    const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    let mut state: [u32; 4] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476];
    for block in padded(data, (data.len() as u64 * 8).to_le_bytes()) {
        let words: [u32; 16] = std::array::from_fn(|number| word(&block[4 * number..]));
        let [mut a, mut b, mut c, mut d] = state;
        for step in 0..64 {
            let (mixed, place) = match step / 16 {
                0 => (b & c | !b & d, step),
                1 => (d & b | !d & c, 5 * step + 1),
                2 => (b ^ c ^ d, 3 * step + 5),
                _ => (c ^ (b | !d), 7 * step),
            };
            // the table of the RFC: the sine of whole numbers
            let sine = (((step + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
            let sum = a.wrapping_add(mixed).wrapping_add(sine).wrapping_add(words[place % 16]);
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(SHIFTS[step / 16][step % 4]));
        }
        for (sum, part) in state.iter_mut().zip([a, b, c, d]) {
            *sum = sum.wrapping_add(part);
        }
    }
    let mut digest = [0; 16];
    digest
        .chunks_exact_mut(4)
        .zip(state)
        .for_each(|(place, word)| place.copy_from_slice(&word.to_le_bytes()));
    digest
}

/// SHA-256 as fio has it: the length is padded in the other order of bytes, and of each word the lowest byte is kept.
pub(super) fn sha256(data: &[u8]) -> [u8; 8] {
    sha256_words(data, (data.len() as u64 * 8).to_le_bytes()).map(|word| word as u8)
}

/// The words of SHA-256 (FIPS 180-4) with a length.
fn sha256_words(data: &[u8], length: [u8; 8]) -> [u32; 8] {
    let primes: Vec<u32> = (2..312).filter(|number| (2..*number).all(|part| number % part > 0)).collect();
    let fraction = |root: f64| ((root - root.floor()) * 4_294_967_296.0) as u32;
    let constants: Vec<u32> = primes.iter().map(|prime| fraction(f64::from(*prime).cbrt())).collect();
    let mut state: [u32; 8] = std::array::from_fn(|number| fraction(f64::from(primes[number]).sqrt()));
    for block in padded(data, length) {
        let mut words = [0_u32; 64];
        for step in 0..64 {
            words[step] = if step < 16 {
                word(&block[4 * step..]).swap_bytes()
            } else {
                let (low, high) = (words[step - 15], words[step - 2]);
                let low = low.rotate_right(7) ^ low.rotate_right(18) ^ low >> 3;
                let high = high.rotate_right(17) ^ high.rotate_right(19) ^ high >> 10;
                words[step - 16].wrapping_add(low).wrapping_add(words[step - 7]).wrapping_add(high)
            };
        }
        let mut parts = state;
        for step in 0..64 {
            let [a, b, c, d, e, f, g, h] = parts;
            let high = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
            let first = h.wrapping_add(high).wrapping_add(e & f ^ !e & g);
            let first = first.wrapping_add(constants[step]).wrapping_add(words[step]);
            let low = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
            let second = low.wrapping_add(a & b ^ a & c ^ b & c);
            parts = [first.wrapping_add(second), a, b, c, d.wrapping_add(first), e, f, g];
        }
        for (sum, part) in state.iter_mut().zip(parts) {
            *sum = sum.wrapping_add(part);
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn sums_are_those_that_are_published() {
        assert_eq!(crc32c(b"123456789") ^ !0, 0xE306_9283);
        // cksum inverts it
        assert_eq!(crc32(&[b"123456789".as_slice(), &[9]].concat()) ^ !0, 930_766_865);
        assert_eq!(xxh32(b"", 0), 0x02CC_5D05);
        assert_eq!(xxh32(b"abc", 0), 0x32D1_53FF);
        assert_eq!(xxh32(b"Nobody inspects the spammish repetition", 0), 0xE229_3B2F);
        assert_eq!(hex(&md5(b"")), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(
            hex(&md5(b"12345678901234567890123456789012345678901234567890123456789012345678901234567890")),
            "57edf4a22be3c955ac49da2e2107b67a"
        );
        let of_abc = sha256_words(b"abc", 24_u64.to_be_bytes());
        assert_eq!((of_abc[0], of_abc[7]), (0xBA78_16BF, 0xF200_15AD));
    }

    #[test]
    fn lengths_around_a_block_are_padded_as_they_are_to_be() {
        assert_eq!(hex(&md5(&[b'a'; 55])), "ef1772b6dff9a122358552954ad0df65");
        assert_eq!(hex(&md5(&[b'a'; 56])), "3b0c8ac703f828b04c6c197006d17218");
        assert_eq!(hex(&md5(&[b'a'; 64])), "014842d480b571495a4a0363793f7367");
    }
}
