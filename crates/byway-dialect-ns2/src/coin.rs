//! ns-2's default random number generator, MRG32k3a (L'Ecuyer, Operations Research
//! 47(1), 1999), with which its CMT class tosses coins (`ns2.cmt_coin`).

const M1: i64 = 4_294_967_087;
const M2: i64 = 4_294_944_443;

/// The state of the generator.
#[derive(Clone, Debug)]
pub(crate) struct Coin {
    a: [i64; 3],
    b: [i64; 3],
}

impl Coin {
    /// The generator with ns-2's seed, after `drawn` numbers.
    pub(crate) fn new(drawn: u32) -> Coin {
        let mut coin = Coin {
            a: [1; 3],
            b: [1; 3],
        };
        for _ in 0..drawn {
            coin.draw();
        }
        coin
    }

    /// The next number, with 31 bits.
    fn draw(&mut self) -> u32 {
        let [a0, a1, a2] = self.a;
        let p = (1_403_580 * a1 - 810_728 * a0).rem_euclid(M1);
        self.a = [a1, a2, p];
        let [b0, b1, b2] = self.b;
        let q = (527_612 * b2 - 1_370_589 * b0).rem_euclid(M2);
        self.b = [b1, b2, q];
        let difference = if p > q { p - q } else { p - q + M1 };
        (difference as f64 * 2.328_306_549_295_728e-10 * 2_147_483_648.0) as u32
    }

    /// Whether the coin falls on 1.
    pub(crate) fn toss(&mut self) -> bool {
        self.draw() & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_ns_2() {
        // `puts [ns-random]`, six times.
        let mut coin = Coin::new(0);
        let found = [0; 6].map(|_: u32| coin.draw());
        let expected = [
            729_236,
            1_193_744_747,
            30_504_276,
            189_241_995,
            947_412_623,
            1_716_173_268,
        ];
        assert_eq!(found, expected);
        assert!(!Coin::new(2).toss() && Coin::new(3).toss());
    }
}
